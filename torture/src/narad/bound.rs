//! How much the faults explain.

use super::REPERTOIRE;
use crate::books::{Message, ON_THE_WAY};
use crate::broker::Course;
use crate::faults::Fault;
use crate::host::SLOTS;

/// What one host may hold leases for: its prefetch, which is its slots, and what may have come for it meanwhile: a request
/// for 32 of the source, and for one of each tier.
const IN_HAND: usize = SLOTS + 32 + 2;

/// How many duplicates there may be: the messages that a host had in work at a fault that repeats, or while it lasted. A host goes
/// on during some.
pub(super) fn duplicates(course: &Course<'_>) -> usize {
    let in_work = |fault: &Fault| {
        let was = |message: &&Message| {
            let mut runs = message.runs.iter().filter(|run| fault.concerns(run.host));
            runs.any(|run| fault.touches(run.began - ON_THE_WAY, ended(message, run.began) + ON_THE_WAY))
        };
        course.messages.values().filter(was).count()
    };
    repeating(course).map(in_work).sum()
}

/// How many leases the faults can have ended: all that the hosts they concern had.
pub(super) fn handed_over_again(course: &Course<'_>) -> usize {
    let hosts = |fault: &Fault| if fault.host.is_some() { 1 } else { course.hosts };
    repeating(course).map(|fault| hosts(fault) * IN_HAND).sum()
}

fn repeating<'c>(course: &Course<'c>) -> impl Iterator<Item = &'c Fault> {
    course.faults.iter().filter(|fault| REPERTOIRE.repeating.contains(&fault.kind))
}

/// When what began then came to an end, or was seen last.
fn ended(message: &Message, began: f64) -> f64 {
    message.ends().into_iter().find(|end| *end >= began).unwrap_or_else(|| message.last_seen())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::books::Run;
    use crate::faults::Kind;

    #[test]
    fn what_was_in_work_at_a_fault_that_repeats_may_come_twice() {
        let run = Run { host: 0, attempt: 1, began: 5.0, ended: Some(8.0), answer: "success", succeeded: true };
        let messages = BTreeMap::from([(7, Message { runs: vec![run], ..Message::default() })]);
        let bounds = |kind, host, at| {
            let fault = Fault { kind, host, begin: at, end: Some(at), detail: String::new() };
            let course = Course { messages: &messages, faults: &[fault], hosts: 3, seconds: 20.0 };
            (duplicates(&course), handed_over_again(&course))
        };
        assert_eq!(bounds(Kind::KillHost, Some(0), 6.0), (1, IN_HAND));
        assert_eq!(bounds(Kind::KillHost, Some(1), 6.0), (0, IN_HAND));
        assert_eq!(bounds(Kind::ExpireLeases, None, 6.0), (1, 3 * IN_HAND));
        assert_eq!(bounds(Kind::KillBroker, None, 9.5), (0, 3 * IN_HAND));
        assert_eq!(bounds(Kind::HangUp, Some(0), 6.0), (0, 0));
    }
}
