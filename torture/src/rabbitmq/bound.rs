//! How many duplicates faults explain: what a host had in work, whose acks nobody sees, when one struck.

use crate::books::{Message, ON_THE_WAY};
use crate::broker::Course;
use crate::faults::Fault;

/// What may have come twice: what was in work at each fault that can repeat it.
pub(super) fn of(course: &Course<'_>, slots: usize) -> usize {
    let Course { messages, faults, hosts, .. } = *course;
    let in_work = |fault: &Fault, host| {
        let mut counts = (0, 0);
        for message in messages.values() {
            match stage(message, fault, host) {
                Some(Stage::InWork) => counts.0 += 1,
                Some(Stage::Settling) => counts.1 += 1,
                None => {}
            }
        }
        counts.0.min(slots) + counts.1
    };
    let repeating = faults.iter().filter(|fault| super::REPERTOIRE.repeating.contains(&fault.kind));
    let of =
        |fault: &Fault| (0..hosts).filter(|host| fault.concerns(*host)).map(|host| in_work(fault, host)).sum::<usize>();
    repeating.map(of).sum()
}

/// How far a host was with a message when a fault struck.
enum Stage {
    InWork,
    /// It ended just before: the ack may have been under way.
    Settling,
}

fn stage(message: &Message, fault: &Fault, host: usize) -> Option<Stage> {
    let over = fault.end.unwrap_or(f64::MAX);
    let run = message.runs.iter().rfind(|run| run.host == host && run.began <= over)?;
    let end = message.ends().into_iter().find(|end| *end >= run.began);
    match end {
        Some(end) if end < fault.begin - ON_THE_WAY => None,
        Some(end) if end <= fault.begin => Some(Stage::Settling),
        // Where another host went on with it, this one had let go.
        _ => message.runs.last().is_some_and(|last| last.host == host || last.began > over).then_some(Stage::InWork),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::books::{DeadLetter, Run};
    use crate::faults::Kind;

    #[test]
    fn what_was_in_work_at_a_fault_that_repeats_may_come_twice() {
        let run = Run { host: 0, attempt: 1, began: 5.0, ended: Some(5.0), answer: "broken", succeeded: false };
        let letter =
            |at| DeadLetter { at, queue: "dead", redelivered: false, made: String::new(), altered: false, bare: false };
        let message = Message { runs: vec![run], dead_letters: vec![letter(6.0), letter(9.0)], ..Message::default() };
        let messages = BTreeMap::from([(7, message)]);
        let bound = |kind, at| {
            let fault = Fault { kind, host: Some(0), begin: at, end: Some(at), detail: String::new() };
            of(&Course { messages: &messages, faults: &[fault], hosts: 2, seconds: 20.0 }, 4)
        };
        assert_eq!(bound(Kind::Refuse, 6.5), 0);
        assert_eq!(bound(Kind::KillHost, 6.5), 1);
        assert_eq!(bound(Kind::KillHost, 7.5), 0, "its first end was long over at this fault");
    }
}
