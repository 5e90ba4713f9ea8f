//! Dead letters without any of the sender's headers: the last resort where a topic takes none that is larger.

use crate::books::{DeadLetter, Message, Trouble};
use crate::broker::Course;
use crate::faults::Kind;

pub(super) fn count(course: &Course<'_>) -> usize {
    course.messages.values().map(|message| of(message).count()).sum()
}

/// Those for which no topic refused its records.
pub(super) fn troubles(course: &Course<'_>) -> Vec<Trouble> {
    let was_refused = |message: &Message, letter: &DeadLetter| {
        let begin = message.runs.first().map_or(message.sent, |run| run.began);
        let mut faults = course.faults.iter().filter(|fault| matches!(fault.kind, Kind::Refuse | Kind::RemoveTopic));
        faults.any(|fault| fault.touches(begin, letter.at))
    };
    let is_odd = |message: &Message| of(message).any(|letter| !was_refused(message, letter));
    let odd = course.messages.iter().filter(|(_, message)| is_odd(message));
    odd.map(|(number, _)| Trouble { number: *number, what: "its dead letter lost the sender's headers" }).collect()
}

fn of(message: &Message) -> impl Iterator<Item = &DeadLetter> {
    message.dead_letters.iter().filter(|letter| letter.bare)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::faults::Fault;

    #[test]
    fn headers_may_be_missing_only_where_a_topic_refused_records() {
        let letter =
            DeadLetter { at: 9.0, queue: "dead", redelivered: false, made: String::new(), altered: false, bare: true };
        let messages = BTreeMap::from([(7, Message { dead_letters: vec![letter], ..Message::default() })]);
        let odd = |kind| {
            let fault = Fault { kind, host: None, begin: 5.0, end: Some(6.0), detail: String::new() };
            let course = Course { messages: &messages, faults: &[fault], hosts: 1, seconds: 20.0 };
            assert_eq!(count(&course), 1);
            troubles(&course).len()
        };
        assert_eq!((odd(Kind::Refuse), odd(Kind::StopBroker)), (0, 1));
    }
}
