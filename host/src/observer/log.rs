//! One log line for each event.

use tracing::{debug, info, warn};

use crate::event::EventKind;

/// Writes the line. What an operator must act on, or would miss later, is a warning; a success is for debugging only.
pub(super) fn write(route: &str, kind: &EventKind) {
    match kind {
        EventKind::Consumed { subject, error: None } => {
            debug!(route, id = subject.id, source = &*subject.source, attempt = subject.attempt, "consumed");
        }
        EventKind::Consumed { subject, error: Some(error) } => info!(
            route,
            id = subject.id,
            source = &*subject.source,
            attempt = subject.attempt,
            error_kind = error.kind,
            error = error.text,
            "attempt failed"
        ),
        EventKind::RetryScheduled { subject, ruling, due } => info!(
            route,
            id = subject.id,
            attempt = subject.attempt,
            error_kind = ruling.error_kind,
            policy = ruling.maker.as_ref().map(display),
            reason = ruling.verdict.reason,
            overridden = ruling.overridden,
            due = display(due),
            "retry scheduled"
        ),
        EventKind::Delayed { subject, ruling, tier, due } => info!(
            route,
            id = subject.id,
            attempt = subject.attempt,
            error_kind = ruling.error_kind,
            policy = ruling.maker.as_ref().map(display),
            reason = ruling.verdict.reason,
            overridden = ruling.overridden,
            tier,
            due = display(due),
            "delayed"
        ),
        EventKind::DeadLettered { subject, ruling, topic } => info!(
            route,
            id = subject.id,
            attempt = subject.attempt,
            error_kind = ruling.error_kind,
            policy = ruling.maker.as_ref().map(display),
            reason = ruling.verdict.reason,
            overridden = ruling.overridden,
            topic,
            "dead-lettered"
        ),
        EventKind::Requeued { subject, ruling, cooldown_ms } => info!(
            route,
            id = subject.id,
            attempt = subject.attempt,
            error_kind = ruling.error_kind,
            policy = ruling.maker.as_ref().map(display),
            reason = ruling.verdict.reason,
            overridden = ruling.overridden,
            cooldown_ms,
            "requeued"
        ),
        EventKind::Parked { subject, ruling, file } => warn!(
            route,
            id = subject.id,
            attempt = subject.attempt,
            error_kind = ruling.error_kind,
            policy = ruling.maker.as_ref().map(display),
            reason = ruling.verdict.reason,
            overridden = ruling.overridden,
            file,
            "parked: the broker does not take it"
        ),
        EventKind::Dropped { subject, ruling } => warn!(
            route,
            id = subject.id,
            attempt = subject.attempt,
            error_kind = ruling.error_kind,
            policy = ruling.maker.as_ref().map(display),
            reason = ruling.verdict.reason,
            overridden = ruling.overridden,
            "dropped"
        ),
        // The line `policy loaded`, which every load has, says it already.
        EventKind::PolicySwapped { from: None, .. } => {}
        EventKind::PolicySwapped { from: Some(from), to, .. } => {
            info!(route, from = display(from), to = display(to), "policy swapped");
        }
        EventKind::CandidateChanged { step, maker, decisions, faults, reason, .. } => {
            let (step, candidate) = (step.name(), maker.as_ref().map(tracing::field::display));
            if matches!(step, "rejected" | "rolled-back") {
                warn!(route, step, candidate, decisions, faults, reason, "candidate policy");
            } else {
                info!(route, step, candidate, decisions, faults, reason, "candidate policy");
            }
        }
        EventKind::PolicyFailed { subject, maker, fault } => warn!(
            route,
            id = subject.id,
            attempt = subject.attempt,
            policy = maker.as_ref().map(display),
            fault = fault.kind.name(),
            error = fault.text,
            "policy failed, the fallback judged"
        ),
        EventKind::PublishFailed { subject, target, error, tries, intake_paused } => {
            warn!(
                route,
                id = subject.id,
                attempt = subject.attempt,
                target_topic = target,
                error,
                tries,
                intake_paused,
                "publish failed, the delivery is held"
            );
        }
        EventKind::Skipped { subject, why } => {
            info!(route, id = subject.id, why = why.name(), "acknowledged without an attempt");
        }
        EventKind::Released { subject, why } => {
            info!(route, id = subject.id, attempt = subject.attempt, why, "released undecided");
        }
    }
}
