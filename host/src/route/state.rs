//! What a route is doing, for people and probes.

use serde::Serialize;
use tokio::sync::watch;

use crate::timestamp::Timestamp;

/// The phases of a route's life.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum Phase {
    /// No policy could be loaded yet. Nothing is consumed.
    WaitingForPolicy,
    /// Connecting to the broker, or checking what the route needs there.
    Connecting {
        /// Why the last try failed.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// Taking messages.
    Consuming {
        /// What the operator should know about the source.
        remarks: Vec<String>,
    },
    /// Taking no more messages, finishing those in work.
    Draining,
    /// Ended.
    Stopped,
}

/// A phase that can be read and waited for.
#[derive(Debug)]
pub struct RouteState(watch::Sender<(Phase, Timestamp)>);

impl Default for RouteState {
    fn default() -> Self {
        Self(watch::Sender::new((Phase::WaitingForPolicy, Timestamp::now())))
    }
}

impl RouteState {
    pub(super) fn set(&self, phase: Phase) {
        self.0.send_if_modified(|current| {
            let changes = current.0 != phase;
            if changes {
                *current = (phase, Timestamp::now());
            }
            changes
        });
    }

    /// The phase, and since when.
    #[must_use]
    pub fn get(&self) -> (Phase, Timestamp) {
        self.0.borrow().clone()
    }

    /// Whether it takes messages.
    #[must_use]
    pub fn is_consuming(&self) -> bool {
        matches!(self.0.borrow().0, Phase::Consuming { .. })
    }

    /// Waits until the phase is as `wanted` says.
    pub async fn wait_for(&self, mut wanted: impl FnMut(&Phase) -> bool) {
        // The sender lives in `self`, so the channel cannot close while this waits.
        let _ = self.0.subscribe().wait_for(|(phase, _)| wanted(phase)).await;
    }
}
