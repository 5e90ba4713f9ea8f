//! Entries in words.

use crate::cli::dead_letters::excerpt;
use crate::cli::policy::words::action;
use crate::journal::{Entry, Outcome, OutcomeKind};
use crate::timestamp::Timestamp;

/// `2026-03-01 12:00:00.000`, in UTC.
pub(in crate::cli) fn time(at: Timestamp) -> String {
    at.to_string().replace('T', " ").trim_end_matches('Z').to_owned()
}

/// What the policy said, in a few words.
pub(in crate::cli) fn answer(entry: &Entry) -> String {
    match &entry.answer {
        Ok(verdict) => excerpt(&action(&verdict.action), 40),
        Err(fault) => format!("fault: {}", fault.kind.name()),
    }
}

/// What became of it, in a few words.
pub(in crate::cli) fn outcome(outcome: Option<&Outcome>) -> String {
    let Some(outcome) = outcome else { return "not known".to_owned() };
    let place = excerpt(outcome.place.as_deref().unwrap_or_default(), 80);
    match outcome.kind {
        OutcomeKind::RetryScheduled => "retry scheduled".to_owned(),
        OutcomeKind::Delayed => format!("delayed in tier {place}"),
        OutcomeKind::DeadLettered => format!("dead-lettered in {place}"),
        OutcomeKind::Requeued => "requeued".to_owned(),
        OutcomeKind::Parked => format!("parked in {place}"),
        OutcomeKind::Dropped => "dropped".to_owned(),
    }
}

/// The message's id, or what stands for it.
pub(in crate::cli) fn id(entry: &Entry) -> String {
    entry.failure.message.id.as_deref().map_or_else(|| "(no id)".to_owned(), |id| excerpt(id, 60))
}
