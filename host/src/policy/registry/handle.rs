//! What a route's driver asks for decisions.

use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use tokio::sync::watch;

use crate::failure::Failure;
use crate::policy::decision_threads::DecisionThreads;
use crate::policy::engine::Revision;
use crate::verdict::{Decision, Fault, FaultKind};

/// The revision that judges on a route: one pointer, swapped whole.
pub(super) struct Slot {
    pub(super) route: Arc<str>,
    live: ArcSwapOption<Revision>,
    ready: watch::Sender<bool>,
}

impl Slot {
    pub(super) fn new(route: &str) -> Arc<Self> {
        Arc::new(Self { route: route.into(), live: ArcSwapOption::empty(), ready: watch::Sender::new(false) })
    }

    pub(super) fn live(&self) -> Option<Arc<Revision>> {
        self.live.load_full()
    }

    /// Later decisions are `revision`'s; gives the one before.
    pub(super) fn swap(&self, revision: Arc<Revision>) -> Option<Arc<Revision>> {
        let before = self.live.swap(Some(revision));
        self.ready.send_replace(true);
        before
    }
}

/// One route's policy, whichever revision is live.
#[derive(Clone)]
pub struct PolicyHandle {
    slot: Arc<Slot>,
    threads: Arc<DecisionThreads>,
}

impl PolicyHandle {
    pub(super) fn new(slot: Arc<Slot>, threads: Arc<DecisionThreads>) -> Self {
        Self { slot, threads }
    }

    pub(super) fn slot(&self) -> &Arc<Slot> {
        &self.slot
    }

    /// Asks the revision that is live now; a swap while it decides changes nothing for this failure. Without a
    /// revision the fault is [`FaultKind::NoPolicy`].
    pub async fn decide(&self, failure: Arc<Failure>) -> Decision {
        let Some(revision) = self.slot.live() else {
            let text = format!("route {} has no policy yet; see its last_error in /status", self.slot.route);
            return Decision { maker: None, result: Err(Fault::new(FaultKind::NoPolicy, text)) };
        };
        let maker = Some(Arc::clone(revision.maker()));
        Decision { maker, result: self.threads.decide(revision, failure).await }
    }

    /// Waits until the route has a revision. One that it has once, it never loses.
    pub async fn ready(&self) {
        let mut ready = self.slot.ready.subscribe();
        ready.wait_for(|ready| *ready).await.expect("the sender lives in the slot, which this handle holds");
    }

    /// Whether the route has a revision.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        *self.slot.ready.borrow()
    }

    /// The revision that would decide now.
    #[must_use]
    pub fn live(&self) -> Option<Arc<Revision>> {
        self.slot.live()
    }
}

impl fmt::Debug for PolicyHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let live = self.live().map(|revision| revision.maker().to_string());
        f.debug_struct("PolicyHandle").field("route", &self.slot.route).field("live", &live).finish()
    }
}
