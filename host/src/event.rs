//! What happened, for whoever watches: embedders as a typed stream, people as log lines, machines as metrics and JSON.

use std::sync::Arc;

use serde::Serialize;

use crate::handler_error::HandlerError;
use crate::timestamp::Timestamp;
use crate::verdict::{Fault, Maker, Verdict};

/// One thing that happened on a route. An event about an outcome is sent once the outcome is durable.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Event {
    /// The host's clock.
    pub at: Timestamp,
    /// The route's name.
    pub route: Arc<str>,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// The kinds of events.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum EventKind {
    /// An attempt ended: without an error, or with one.
    Consumed {
        /// Which message.
        subject: Subject,
        /// What it failed with; absent after a success.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<HandlerError>,
    },
    /// The handler will run again in this process.
    RetryScheduled {
        /// Which message.
        subject: Subject,
        /// Who decided, what, and what the host made of it.
        ruling: Ruling,
        /// When it will run.
        due: Timestamp,
    },
    /// A copy is in a tier and the delivery is settled.
    Delayed {
        /// Which message.
        subject: Subject,
        /// Who decided, what, and what the host made of it.
        ruling: Ruling,
        /// The tier's name.
        tier: String,
        /// When it will be back, at the earliest.
        due: Timestamp,
    },
    /// A copy is in a dead-letter topic.
    DeadLettered {
        /// Which message.
        subject: Subject,
        /// Who decided, what, and what the host made of it.
        ruling: Ruling,
        /// The topic.
        topic: String,
    },
    /// The delivery was handed back to the broker.
    Requeued {
        /// Which message.
        subject: Subject,
        /// Who decided, what, and what the host made of it.
        ruling: Ruling,
        /// How long it was held first.
        cooldown_ms: u64,
    },
    /// The broker never takes the message: it is in the park folder, and the delivery is settled.
    Parked {
        /// Which message.
        subject: Subject,
        /// Who decided, what, and what the host made of it.
        ruling: Ruling,
        /// The file that describes it.
        file: String,
    },
    /// The message was acknowledged and forgotten.
    Dropped {
        /// Which message.
        subject: Subject,
        /// Who decided, what, and what the host made of it.
        ruling: Ruling,
    },
    /// A policy revision went live.
    PolicySwapped {
        /// The revision before, if there was one.
        #[serde(skip_serializing_if = "Option::is_none")]
        from: Option<Maker>,
        /// The revision that judges from now on.
        to: Maker,
        /// What it was made from.
        file: SwappedFile,
    },
    /// A candidate began, was promoted, held, or taken back; or a live policy was taken back.
    CandidateChanged {
        /// What happened.
        step: CandidateStep,
        /// The revision that it happened to; absent where it never became one.
        #[serde(skip_serializing_if = "Option::is_none")]
        maker: Option<Maker>,
        /// What it was made from; absent where nothing could be read.
        #[serde(skip_serializing_if = "Option::is_none")]
        file: Option<SwappedFile>,
        /// Its decisions so far, as a candidate.
        decisions: u64,
        /// Those of them that were faults.
        faults: u64,
        /// Why, for a person.
        reason: String,
    },
    /// A policy gave no verdict; the fallback judged.
    PolicyFailed {
        /// Which message.
        subject: Subject,
        /// Which policy; absent where the route has none.
        #[serde(skip_serializing_if = "Option::is_none")]
        maker: Option<Maker>,
        /// What went wrong.
        fault: Fault,
    },
    /// A copy could not be published; the delivery is held and will be tried again.
    PublishFailed {
        /// Which message.
        subject: Subject,
        /// Where it was to go.
        target: String,
        /// What the broker said.
        error: String,
        /// Tries so far.
        tries: u32,
        /// The route takes no new messages until this passes.
        intake_paused: bool,
    },
    /// A delivery was acknowledged without running its handler: what it carries was dealt with before.
    Skipped {
        /// Which message.
        subject: Subject,
        /// How the host knows.
        why: SkipReason,
    },
    /// A delivery ended undecided: it is the broker's again, not counted as failed.
    Released {
        /// Which message.
        subject: Subject,
        /// Shutdown, a lost connection, or publishing that never got through.
        why: &'static str,
    },
}

impl EventKind {
    /// The event's name, as in JSON and metrics.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Consumed { .. } => "consumed",
            Self::RetryScheduled { .. } => "retry-scheduled",
            Self::Delayed { .. } => "delayed",
            Self::DeadLettered { .. } => "dead-lettered",
            Self::Requeued { .. } => "requeued",
            Self::Parked { .. } => "parked",
            Self::Dropped { .. } => "dropped",
            Self::PolicySwapped { .. } => "policy-swapped",
            Self::CandidateChanged { .. } => "candidate-changed",
            Self::PolicyFailed { .. } => "policy-failed",
            Self::PublishFailed { .. } => "publish-failed",
            Self::Skipped { .. } => "skipped",
            Self::Released { .. } => "released",
        }
    }
}

/// What happens to candidates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CandidateStep {
    /// It is asked from now on.
    Began,
    /// It was refused when it was loaded.
    Rejected,
    /// Its file is gone, or another one took its place.
    Withdrawn,
    /// It is the live policy from now on.
    Promoted,
    /// It is neither promoted nor rolled back by itself.
    Held,
    /// It is again.
    Resumed,
    /// It was taken back, and its file is not taken again.
    RolledBack,
}

impl CandidateStep {
    /// The name, as in JSON and logs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Began => "began",
            Self::Rejected => "rejected",
            Self::Withdrawn => "withdrawn",
            Self::Promoted => "promoted",
            Self::Held => "held",
            Self::Resumed => "resumed",
            Self::RolledBack => "rolled-back",
        }
    }
}

/// The file that a policy was loaded from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SwappedFile {
    /// SHA-256 of its bytes, hexadecimal.
    pub digest: String,
    /// In bytes.
    pub size: u64,
    /// The key that signed it, where a signature was demanded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signed_by: Option<String>,
    /// Where it was: in the policies folder, among the last good ones, or in the program.
    pub source: &'static str,
}

/// Why a delivery needs no attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SkipReason {
    /// The outcome of this very copy is durable; the connection ended before the broker took the ack (rule 13).
    AckLost,
    /// A message that counts as the same was handled on this route before, within the window of `deduplicate`.
    Duplicate,
}

impl SkipReason {
    /// The reason, as in JSON and metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AckLost => "ack-lost",
            Self::Duplicate => "duplicate",
        }
    }
}

/// The message that an event is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Subject {
    /// Its id, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The queue or topic that it came from.
    pub source: Arc<str>,
    /// The attempt that ended last, from 1; 0 before the first.
    pub attempt: u32,
}

/// How a failure was decided.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ruling {
    /// Kind of the error that was judged.
    pub error_kind: String,
    /// The policy that judged; absent where the host's own rule did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maker: Option<Maker>,
    /// What was said, by the policy or by the fallback in its place.
    pub verdict: Verdict,
    /// Why the host judged in the policy's place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
    /// Why the outcome differs from the verdict, where it does.
    #[serde(rename = "override", skip_serializing_if = "Option::is_none")]
    pub overridden: Option<String>,
}
