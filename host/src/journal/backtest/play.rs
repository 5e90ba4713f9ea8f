//! What a host would make of what was said: the fallback after a fault, and what it overrides.

use std::time::Duration;

use super::Judges;
use crate::delivery::{Outcome, Situation, preview};
use crate::failure::Failure;
use crate::timestamp::Timestamp;
use crate::verdict::{Fault, Verdict};

/// What would follow.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Played {
    pub(super) outcome: Outcome,
    /// When the message is tried again; `None` where it is not.
    pub(super) due: Option<Timestamp>,
    /// How long that takes.
    pub(super) wait: Option<Duration>,
    /// Why this is not what was said, where it is not.
    pub(super) overridden: Option<String>,
}

/// For a message that has just arrived: how long it was held, and how often handed back, is not recorded.
pub(super) fn play(judges: &Judges, failure: &Failure, said: &Result<Verdict, Fault>) -> Played {
    let situation = Situation { has_handler: judges.has_handler, ..Situation::just_arrived(failure) };
    let preview = preview(failure, said, situation, &judges.rules);
    let due = match &preview.outcome {
        Outcome::Again { wait } => Some(failure.now.after(*wait)),
        Outcome::Delay { due, .. } => Some(*due),
        Outcome::Requeue { cooldown } => Some(failure.now.after(*cooldown)),
        Outcome::DeadLetter { .. } | Outcome::Drop => None,
    };
    let wait = due.map(|due| due.since(failure.now));
    Played { outcome: preview.outcome, due, wait, overridden: preview.overridden }
}

/// The name of an outcome, as verdicts have it.
pub(super) const fn name(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Again { .. } => "retry",
        Outcome::Delay { .. } => "delay",
        Outcome::DeadLetter { .. } => "dead-letter",
        Outcome::Requeue { .. } => "requeue",
        Outcome::Drop => "drop",
    }
}
