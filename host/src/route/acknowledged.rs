//! The latest acks of one consumer. Where the broker does not answer an ack, one that was given to a dying connection may
//! never have been written, or never have arrived (rules 13 and 15), and nobody can tell which.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::time::Instant;

use super::memory::{CopyKey, Memory};
use crate::message::Message;

/// Acks that are kept beyond the prefetch: they are noted in another order than they were asked for in.
const MARGIN: usize = 16;

/// The bytes of message bodies that are kept in all. Larger ones are told by their digest alone.
const BODY_BYTES: usize = 16 * 1024 * 1024;

/// A broker that has not seen an ack counts the delivery as unsettled, and hands out no more than the prefetch of those. So
/// the acks that it may not have seen are among that many latest ones.
#[derive(Debug)]
pub(super) struct Acknowledged {
    latest: Mutex<Latest>,
    most: usize,
    largest_body: usize,
}

#[derive(Debug)]
enum Latest {
    /// The consumer is there.
    Known(VecDeque<(Copy, Instant)>),
    /// The consumer was lost: what was acknowledged may come back.
    Doubtful,
}

/// A copy that was acknowledged. On the happy path nothing is hashed: that can be done once the consumer is lost.
#[derive(Debug)]
enum Copy {
    Whole(Arc<Message>),
    Digest(CopyKey),
}

impl Acknowledged {
    pub(super) fn new(prefetch: u16) -> Self {
        let most = usize::from(prefetch) + MARGIN;
        Self { latest: Mutex::new(Latest::Known(VecDeque::with_capacity(most))), most, largest_body: BODY_BYTES / most }
    }

    /// An ack was asked for. One that is asked for after the consumer was lost is in doubt at once.
    pub(super) fn note(&self, message: &Arc<Message>, memory: &Memory) {
        // Two messages without an id may be alike and yet not the same.
        if message.id.is_none() {
            return;
        }
        let copy = if message.body_size() <= self.largest_body {
            Copy::Whole(Arc::clone(message))
        } else if let Some(key) = CopyKey::of(message) {
            Copy::Digest(key)
        } else {
            return;
        };
        let now = Instant::now();
        match &mut *self.latest.lock().unwrap_or_else(PoisonError::into_inner) {
            Latest::Known(latest) => {
                if latest.len() >= self.most {
                    latest.pop_front();
                }
                latest.push_back((copy, now));
            }
            Latest::Doubtful => copy.remember(now, memory),
        }
    }

    /// The consumer was lost: none of its latest copies is handled again when it comes back.
    pub(super) fn lose(&self, memory: &Memory) {
        let latest =
            std::mem::replace(&mut *self.latest.lock().unwrap_or_else(PoisonError::into_inner), Latest::Doubtful);
        if let Latest::Known(latest) = latest {
            latest.iter().for_each(|(copy, at)| copy.remember(*at, memory));
        }
    }
}

impl Copy {
    fn remember(&self, acknowledged: Instant, memory: &Memory) {
        let key = match self {
            Self::Whole(message) => CopyKey::of(message),
            Self::Digest(key) => Some(*key),
        };
        if let Some(key) = key {
            memory.remember_doubtful(key, acknowledged);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::route::memory::Remembered;

    fn message(id: usize, body: usize) -> Arc<Message> {
        Arc::new(Message::new(vec![b'x'; body]).with_id(id.to_string()))
    }

    fn is_done(memory: &Memory, message: &Message) -> bool {
        CopyKey::of(message).and_then(|key| memory.take(key)) == Some(Remembered::Done)
    }

    #[test]
    fn acks_are_in_doubt_only_once_the_consumer_is_lost() {
        let (acknowledged, memory) = (Acknowledged::new(2), Memory::default());
        acknowledged.note(&message(1, 1), &memory);
        assert!(memory.is_empty());
        acknowledged.lose(&memory);
        acknowledged.note(&message(2, 1), &memory);
        assert!(is_done(&memory, &message(1, 1)) && is_done(&memory, &message(2, 1)));
    }

    #[test]
    fn no_more_are_kept_than_the_broker_may_not_have_seen() {
        let (acknowledged, memory) = (Acknowledged::new(2), Memory::default());
        let all: Vec<_> = (0..2 + MARGIN + 1).map(|id| message(id, 1)).collect();
        all.iter().for_each(|message| acknowledged.note(message, &memory));
        acknowledged.lose(&memory);
        assert!(!is_done(&memory, &all[0]), "long before the latest");
        assert!(all[1..].iter().all(|message| is_done(&memory, message)));
    }

    #[test]
    fn a_large_body_is_not_kept_and_is_known_again_all_the_same() {
        let (acknowledged, memory) = (Acknowledged::new(u16::MAX), Memory::default());
        let large = message(1, BODY_BYTES / usize::from(u16::MAX) + 1);
        acknowledged.note(&large, &memory);
        assert_eq!(Arc::strong_count(&large), 1);
        acknowledged.lose(&memory);
        assert!(is_done(&memory, &large));
    }
}
