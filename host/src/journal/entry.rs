//! A judged failure, and what became of it.

use serde::{Deserialize, Serialize};

use super::{CandidateMode, Kept};
use crate::event::{EventKind, Ruling};
use crate::failure::Failure;
use crate::timestamp::Timestamp;
use crate::verdict::{Fault, Maker, Verdict};

/// One failure that was judged. In JSON `answer` is `{"Ok": verdict}` or `{"Err": fault}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Its number in this journal, rising. 0 before it is written.
    #[serde(default)]
    pub id: u64,
    /// The route's name.
    pub route: String,
    /// What the policy saw, but for what was withheld.
    pub failure: Failure,
    /// What was withheld.
    #[serde(default, skip_serializing_if = "Kept::is_everything")]
    pub kept: Kept,
    /// The policy that was asked; absent where the route had none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maker: Option<Maker>,
    /// What it said, or why it said nothing.
    pub answer: Result<Verdict, Fault>,
    /// What the host did; absent where that never became durable, as far as this host knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// What a candidate said of the same failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidate: Option<Candidate>,
}

/// What the host did with a failure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// When it was durable.
    pub at: Timestamp,
    /// What it was.
    pub kind: OutcomeKind,
    /// The fallback's verdict, where the policy gave none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<Verdict>,
    /// Why the outcome differs from the verdict, where it does.
    #[serde(rename = "override", default, skip_serializing_if = "Option::is_none")]
    pub overridden: Option<String>,
    /// The tier, the dead-letter topic or the park folder's file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// When the message is tried again, at the earliest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<Timestamp>,
}

/// The six ends of a failure, by the names of their events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutcomeKind {
    /// The handler runs again in the host.
    RetryScheduled,
    /// A copy is in a tier.
    Delayed,
    /// A copy is in a dead-letter topic.
    DeadLettered,
    /// Handed back to the broker.
    Requeued,
    /// In the park folder.
    Parked,
    /// Acknowledged and forgotten.
    Dropped,
}

impl OutcomeKind {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::RetryScheduled, Self::Delayed, Self::DeadLettered, Self::Requeued, Self::Parked, Self::Dropped];

    /// The name, as in JSON and metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::RetryScheduled => "retry-scheduled",
            Self::Delayed => "delayed",
            Self::DeadLettered => "dead-lettered",
            Self::Requeued => "requeued",
            Self::Parked => "parked",
            Self::Dropped => "dropped",
        }
    }

    /// Whether the message is tried again.
    #[must_use]
    pub const fn goes_on(self) -> bool {
        matches!(self, Self::RetryScheduled | Self::Delayed | Self::Requeued)
    }

    /// The one that has this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

impl Outcome {
    /// The outcome that an event tells of; `None` for events that tell of something else.
    #[must_use]
    pub fn of(event: &EventKind, at: Timestamp) -> Option<Self> {
        let (kind, ruling, place, due) = match event {
            EventKind::RetryScheduled { ruling, due, .. } => (OutcomeKind::RetryScheduled, ruling, None, Some(*due)),
            EventKind::Delayed { ruling, tier, due, .. } => (OutcomeKind::Delayed, ruling, Some(tier), Some(*due)),
            EventKind::DeadLettered { ruling, topic, .. } => (OutcomeKind::DeadLettered, ruling, Some(topic), None),
            EventKind::Requeued { ruling, .. } => (OutcomeKind::Requeued, ruling, None, None),
            EventKind::Parked { ruling, file, .. } => (OutcomeKind::Parked, ruling, Some(file), None),
            EventKind::Dropped { ruling, .. } => (OutcomeKind::Dropped, ruling, None, None),
            _ => return None,
        };
        let Ruling { verdict, fault, overridden, .. } = ruling;
        let fallback = fault.is_some().then(|| verdict.clone());
        Some(Self { at, kind, fallback, overridden: overridden.clone(), place: place.cloned(), due })
    }
}

/// What a candidate said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// How it came to be asked.
    pub mode: CandidateMode,
    /// Which revision it was.
    pub maker: Maker,
    /// What it said, or why it said nothing.
    pub answer: Result<Verdict, Fault>,
}
