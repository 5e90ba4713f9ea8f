//! Whole messages: what would have become of each, as far as its record tells, and no further.

use serde::Serialize;

/// How messages would have fared. A message that was put back after its end counts anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Followed {
    /// Messages that have an id, by that and their route.
    pub messages: u64,
    /// Each failure leads to what it led to: the message ends as it did.
    pub same: u64,
    /// It would have ended before its last failure: in a dead letter, or dropped.
    pub sooner: u64,
    /// The failures that these would have been spared.
    pub saved_failures: u64,
    /// It would have ended at the same failure, in another way: another label, or dropped instead of dead-lettered.
    pub otherwise: u64,
    /// From some failure on the record is about something else: it would have been tried again where it ended, or at another time.
    pub unknown: u64,
    /// As far as it could be judged all is the same, and then a failure lacks what a policy reads.
    pub not_judged: u64,
    /// Failures that belong to no message that is followed: it has no id.
    pub failures_without_id: u64,
}

/// One failure of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Link {
    /// A hash of route and message id.
    pub(super) message: u64,
    /// When, and which entry of which journal: failures of a message in their order.
    pub(super) at: (u64, usize, u64),
    /// The message was tried again.
    pub(super) went_on: bool,
    pub(super) would: Would,
}

/// What the candidate would have had become of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Would {
    /// What became of it.
    Same,
    /// Another end, or an end in the place of another attempt.
    End,
    /// Another attempt, or the same at another time.
    GoOn,
    /// It was not judged.
    Unjudged,
}

pub(super) fn follow(mut links: Vec<Link>, failures_without_id: u64) -> Followed {
    links.sort_unstable_by_key(|link| (link.message, link.at));
    let mut followed = Followed { failures_without_id, ..Followed::default() };
    // What comes after an end is another life: somebody put the message back.
    for life in links.chunk_by(|link, next| link.message == next.message && link.went_on) {
        followed.messages += 1;
        let Some(at) = life.iter().position(|link| link.would != Would::Same) else {
            followed.same += 1;
            continue;
        };
        match (life[at].would, life[at].went_on) {
            (Would::End, true) => {
                followed.sooner += 1;
                followed.saved_failures += (life.len() - at - 1) as u64;
            }
            (Would::End, false) => followed.otherwise += 1,
            (Would::Unjudged, _) => followed.not_judged += 1,
            (Would::GoOn | Would::Same, _) => followed.unknown += 1,
        }
    }
    followed
}

#[cfg(test)]
mod tests {
    use super::Would::{End, GoOn, Same, Unjudged};
    use super::*;

    /// A message's failures in their order, each with whether it went on then, and what would have become of it.
    fn message(failures: &[(bool, Would)]) -> Followed {
        let link = |(at, (went_on, would)): (u64, &(bool, Would))| Link {
            message: 1,
            at: (at, 0, 0),
            went_on: *went_on,
            would: *would,
        };
        let mut links: Vec<_> = (0..).zip(failures).map(link).collect();
        links.reverse();
        follow(links, 0)
    }

    #[test]
    fn a_message_is_followed_to_its_first_change_and_no_further() {
        assert_eq!(message(&[(true, Same), (false, Same)]).same, 1);
        let sooner = message(&[(true, End), (true, GoOn), (false, Same)]);
        assert_eq!((sooner.sooner, sooner.saved_failures, sooner.unknown), (1, 2, 0));
        assert_eq!(message(&[(true, GoOn), (false, Same)]).unknown, 1, "at another time");
        assert_eq!(message(&[(false, GoOn)]).unknown, 1, "where it ended");
        assert_eq!(message(&[(false, End)]).otherwise, 1);
    }

    #[test]
    fn what_was_not_judged_is_not_taken_for_the_same() {
        let followed = message(&[(true, Same), (true, Unjudged), (false, Same)]);
        assert_eq!((followed.not_judged, followed.same), (1, 0));
        assert_eq!(message(&[(true, End), (false, Unjudged)]).sooner, 1, "what it would not have come to matters not");
    }

    #[test]
    fn a_message_that_was_put_back_counts_anew() {
        let followed = message(&[(true, End), (false, Same), (true, Same), (false, Same)]);
        assert_eq!((followed.messages, followed.sooner, followed.saved_failures, followed.same), (2, 1, 1, 1));
    }

    #[test]
    fn messages_are_told_apart_and_those_of_several_journals_are_put_in_order() {
        let link = |message, at, would| Link { message, at, went_on: true, would };
        let links = vec![
            link(1, (9, 0, 1), GoOn),
            link(2, (5, 0, 2), Same),
            link(1, (8, 1, 70), End),
            link(2, (4, 1, 71), Same),
        ];
        let followed = follow(links, 3);
        assert_eq!((followed.messages, followed.same, followed.sooner, followed.saved_failures), (2, 1, 1, 1));
        assert_eq!(followed.failures_without_id, 3);
    }
}
