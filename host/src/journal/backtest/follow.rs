//! Whole messages: what would have become of each, as far as its record tells, and no further.

use serde::Serialize;

/// How messages would have fared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Followed {
    /// Messages that have an id, by that and their route.
    pub messages: u64,
    /// Each failure gets the verdict that it got: the message ends as it did.
    pub same: u64,
    /// It would have ended before its last failure: in a dead letter, or dropped.
    pub sooner: u64,
    /// The failures that these would have been spared.
    pub saved_failures: u64,
    /// It would have ended at the same failure, in another way: another label, or dropped instead of dead-lettered.
    pub otherwise: u64,
    /// From some failure on the record is about something else: it would have been tried again where it ended, or at another time.
    pub unknown: u64,
}

/// One failure of a message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Link {
    /// A hash of route and message id.
    pub(super) message: u64,
    /// The entry's number: failures of a message in their order.
    pub(super) entry: u64,
    pub(super) is_same: bool,
    /// Whether the message goes on after it, by either.
    pub(super) before: bool,
    pub(super) after: bool,
}

pub(super) fn follow(mut links: Vec<Link>) -> Followed {
    links.sort_unstable_by_key(|link| (link.message, link.entry));
    let mut followed = Followed::default();
    for message in links.chunk_by(|a, b| a.message == b.message) {
        followed.messages += 1;
        let Some(at) = message.iter().position(|link| !link.is_same) else {
            followed.same += 1;
            continue;
        };
        let left = (message.len() - at - 1) as u64;
        match message[at] {
            Link { before: true, after: false, .. } => {
                followed.sooner += 1;
                followed.saved_failures += left;
            }
            Link { before: false, after: false, .. } => followed.otherwise += 1,
            Link { after: true, .. } => followed.unknown += 1,
        }
    }
    followed
}
