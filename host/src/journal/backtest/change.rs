//! What differs between two answers, in words that many failures have in common.

use std::time::Duration;

use humantime::format_duration;

use super::Change;
use crate::verdict::{Action, Fault, Verdict};

/// The upper ends of what waits are counted in, but for the longest.
const WAITS: [Duration; 10] = [
    Duration::from_millis(100),
    Duration::from_secs(1),
    Duration::from_secs(10),
    Duration::from_secs(30),
    Duration::from_secs(60),
    Duration::from_secs(5 * 60),
    Duration::from_secs(30 * 60),
    Duration::from_secs(60 * 60),
    Duration::from_secs(6 * 60 * 60),
    Duration::from_secs(24 * 60 * 60),
];

/// How many kinds of waits there are.
pub(super) const KINDS_OF_WAITS: usize = WAITS.len() + 1;

pub(super) fn kind_of_wait(wait: Duration) -> usize {
    WAITS.iter().position(|most| wait <= *most).unwrap_or(WAITS.len())
}

/// The longest of a kind; `None` where there is none.
pub(super) fn longest(kind: usize) -> Option<Duration> {
    WAITS.get(kind).copied()
}

pub(super) fn name_of_wait(kind: usize) -> String {
    match (longest(kind), WAITS.last()) {
        (Some(most), _) => format!("at most {}", format_duration(most)),
        (None, Some(last)) => format!("over {}", format_duration(*last)),
        (None, None) => String::new(),
    }
}

/// Whether they say the same: action with its parameters, and pause; two faults of one class. Reasons and headers may differ.
pub(super) fn are_same(before: &Result<Verdict, Fault>, after: &Result<Verdict, Fault>) -> bool {
    match (before, after) {
        (Ok(before), Ok(after)) => before.action == after.action && before.pause_intake == after.pause_intake,
        (Err(before), Err(after)) => before.kind == after.kind,
        _ => false,
    }
}

/// What changed, of two answers that are not the same.
pub(super) fn change(error_kind: &str, before: &Result<Verdict, Fault>, after: &Result<Verdict, Fault>) -> Change {
    let (from, mut to) = (described(before), described(after));
    // Waits are taken together by their order of magnitude: jitter would make a change of each.
    if let (Ok(before), Ok(after), true) = (before, after, from == to) {
        let what = match (wait(&before.action).cmp(&wait(&after.action)), before.pause_intake < after.pause_intake) {
            (std::cmp::Ordering::Less, _) => " (longer)",
            (std::cmp::Ordering::Greater, _) => " (shorter)",
            (std::cmp::Ordering::Equal, true) => " (longer pause)",
            (std::cmp::Ordering::Equal, false) => " (shorter pause)",
        };
        to.push_str(what);
    }
    Change { error_kind: error_kind.to_owned(), from, to }
}

fn described(answer: &Result<Verdict, Fault>) -> String {
    let verdict = match answer {
        Ok(verdict) => verdict,
        Err(fault) => return format!("fault: {}", fault.kind),
    };
    let action = match &verdict.action {
        Action::DelayTo { tier } => format!("delay-to {tier}"),
        Action::DeadLetter { label: Some(label) } => format!("dead-letter {label}"),
        action => match wait(action) {
            Some(wait) => format!("{}, {}", action.name(), name_of_wait(kind_of_wait(wait))),
            None => action.name().to_owned(),
        },
    };
    match verdict.pause_intake {
        Some(pause) => format!("{action}, pause {}", name_of_wait(kind_of_wait(Duration::from_millis(pause)))),
        None => action,
    }
}

fn wait(action: &Action) -> Option<Duration> {
    match action {
        Action::Retry { delay_ms } | Action::Delay { delay_ms } => Some(Duration::from_millis(*delay_ms)),
        Action::Requeue { cooldown_ms } => cooldown_ms.map(Duration::from_millis),
        Action::DelayTo { .. } | Action::DeadLetter { .. } | Action::Drop => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::FaultKind;

    fn changed(before: &Result<Verdict, Fault>, after: &Result<Verdict, Fault>) -> String {
        let change = change("k", before, after);
        format!("{} → {}", change.from, change.to)
    }

    fn retry(delay_ms: u64, pause_intake: Option<u64>) -> Result<Verdict, Fault> {
        Ok(Verdict { pause_intake, ..Verdict::new(Action::Retry { delay_ms }, "why") })
    }

    #[test]
    fn waits_of_one_kind_are_told_apart_by_what_became_of_them() {
        assert_eq!(changed(&retry(200, None), &retry(900, None)), "retry, at most 1s → retry, at most 1s (longer)");
        assert_eq!(changed(&retry(900, None), &retry(200, None)), "retry, at most 1s → retry, at most 1s (shorter)");
        assert_eq!(changed(&retry(5, None), &retry(u64::MAX, None)), "retry, at most 100ms → retry, over 1day");
    }

    #[test]
    fn a_pause_is_a_change() {
        assert!(!are_same(&retry(5, None), &retry(5, Some(5))));
        assert_eq!(
            changed(&retry(5, None), &retry(5, Some(30_000))),
            "retry, at most 100ms → retry, at most 100ms, pause at most 30s"
        );
        assert!(changed(&retry(5, Some(2)), &retry(5, Some(1))).ends_with("(shorter pause)"));
    }

    #[test]
    fn a_fault_is_the_same_as_another_of_its_class_whatever_it_says() {
        let fault = |kind, text| Err(Fault::new(kind, text));
        assert!(are_same(&fault(FaultKind::Trap, "a"), &fault(FaultKind::Trap, "b")));
        assert!(!are_same(&fault(FaultKind::Trap, "a"), &fault(FaultKind::Memory, "a")));
        assert_eq!(changed(&retry(5, None), &fault(FaultKind::Trap, "a")), "retry, at most 100ms → fault: trap");
    }
}
