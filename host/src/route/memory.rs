//! What a route remembers of deliveries that went back to the broker (rules 9 and 13). Bounded, and gone with the process.

use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lru::LruCache;
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use crate::delivery::{KnownStarts, is_counted_by_broker};
use crate::message::Message;

/// Copies remembered on one route; the one that was seen longest ago is forgotten first. More than may be unsettled at a time.
const CAPACITY: NonZeroUsize = NonZeroUsize::new(100_000).expect("not zero");

/// A copy that a broker may hand over again: the same id, count, headers and body. A delayed copy has another count or
/// due time, or was given back by its tier at another time, so it is another copy. What the broker counts differs from one
/// hand-over to the next and is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct CopyKey([u8; 32]);

impl CopyKey {
    /// Nothing for a message without an id: two of those may be alike and yet not the same.
    pub(super) fn of(message: &Message) -> Option<Self> {
        message.id.as_ref()?;
        Some(Self::alike(message))
    }

    /// The same for all messages that are alike, which is enough where nothing is lost by taking one for another.
    pub(super) fn alike(message: &Message) -> Self {
        let mut digest = Sha256::new();
        let mut add = |part: Option<&[u8]>| match part {
            None => digest.update([0]),
            Some(bytes) => {
                digest.update([1]);
                digest.update((bytes.len() as u64).to_le_bytes());
                digest.update(bytes);
            }
        };
        add(message.id.as_deref().map(str::as_bytes));
        for (name, value) in message.headers.iter().filter(|(name, _)| !is_counted_by_broker(name)) {
            add(Some(name.as_bytes()));
            add(Some(format!("{value:?}").as_bytes()));
        }
        add(message.body.as_deref());
        // A topic that was made anew may hold the same messages at the same places, but not from the same moment.
        add(message.timestamp.map(|at| at.0.to_le_bytes()).as_ref().map(<[u8; 8]>::as_slice));
        Self(digest.finalize().into())
    }
}

/// In hexadecimal digits.
impl std::fmt::Display for CopyKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// What is known of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Remembered {
    /// It was begun, and its outcome is open.
    Open(KnownStarts),
    /// Its outcome is durable; only the ack was lost.
    Done,
}

/// A broker that was cut off hands a delivery over again at once. What is older stands for a message that was sent anew.
const BELIEVED: Duration = Duration::from_secs(15 * 60);

/// An ack that was written longer before the connection was lost has arrived: a dead connection is noticed by its missing
/// heartbeats within two minutes.
const IN_DOUBT: Duration = Duration::from_secs(3 * 60);

type Entries = LruCache<CopyKey, (Remembered, Instant)>;

#[derive(Debug)]
pub(super) struct Memory(Mutex<Entries>);

impl Default for Memory {
    fn default() -> Self {
        // Grows with use: a route that never loses a delivery pays nothing.
        let mut cache = LruCache::unbounded();
        cache.resize(CAPACITY);
        Self(Mutex::new(cache))
    }
}

impl Memory {
    pub(super) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    pub(super) fn remember(&self, key: CopyKey, what: Remembered) {
        self.lock().put(key, (what, Instant::now()));
    }

    /// The ack of a copy may not have arrived. Where a hand-over of something alike was open since, that was another message,
    /// and a duplicate is better than a loss.
    pub(super) fn remember_doubtful(&self, key: CopyKey, acknowledged: Instant) {
        if acknowledged.elapsed() > IN_DOUBT {
            return;
        }
        let mut entries = self.lock();
        let is_newer = |(what, since): &(Remembered, Instant)| *what != Remembered::Done && *since >= acknowledged;
        if !entries.peek(&key).is_some_and(is_newer) {
            entries.put(key, (Remembered::Done, acknowledged));
        }
    }

    /// A hand-over of a copy ended without an outcome. Where another one had an outcome in between, that stands; but not if
    /// this was the first hand-over: then what was done was another message, alike to the byte.
    pub(super) fn remember_open(&self, key: CopyKey, known: KnownStarts, redelivered: bool) {
        let mut entries = self.lock();
        let is_done = |(what, since): &(Remembered, Instant)| *what == Remembered::Done && since.elapsed() < BELIEVED;
        if !(redelivered && entries.peek(&key).is_some_and(is_done)) {
            entries.put(key, (Remembered::Open(known), Instant::now()));
        }
    }

    /// What is known of a copy, once: who takes it must remember it again if the copy goes back again.
    pub(super) fn take(&self, key: CopyKey) -> Option<Remembered> {
        let (what, since) = self.lock().pop(&key)?;
        (since.elapsed() < BELIEVED).then_some(what)
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        // Nothing in here can be left half-done by a panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{HeaderValue, Headers};

    fn key(message: &Message) -> CopyKey {
        CopyKey::of(message).expect("it has an id")
    }

    #[test]
    fn a_delayed_copy_is_not_the_copy_that_it_was_made_from() {
        let first = Message::new("b").with_id("m1");
        let delayed = first.clone().with_header("reprieve-attempts", 1_u32);
        assert_ne!(key(&first), key(&delayed));
        let hop = delayed.clone().with_header("reprieve-tier", "5m");
        assert_ne!(key(&delayed), key(&hop));
    }

    #[test]
    fn a_copy_that_goes_through_the_same_tier_again_is_another_one() {
        let hop = |time: u64| {
            let death = Headers::from_iter([("time".to_owned(), HeaderValue::Timestamp(time))]);
            Message::new("b").with_id("m1").with_header("x-death", HeaderValue::Array(vec![HeaderValue::Table(death)]))
        };
        assert_ne!(key(&hop(3600)), key(&hop(7200)));
        assert_eq!(key(&hop(3600)), key(&hop(3600)), "its redelivery");
    }

    #[tokio::test(start_paused = true)]
    async fn a_doubtful_ack_says_nothing_of_what_was_handed_over_since_nor_for_long() {
        let (memory, key) = (Memory::default(), key(&Message::new("b").with_id("m1")));
        let acknowledged = Instant::now();
        memory.remember_doubtful(key, acknowledged);
        assert_eq!(memory.take(key), Some(Remembered::Done));

        tokio::time::advance(Duration::from_secs(1)).await;
        let known = KnownStarts { starts: 1, ..KnownStarts::default() };
        memory.remember_open(key, known, false);
        memory.remember_doubtful(key, acknowledged);
        assert_eq!(memory.take(key), Some(Remembered::Open(known)), "a first hand-over is of another message");

        tokio::time::advance(IN_DOUBT).await;
        memory.remember_doubtful(key, acknowledged);
        assert_eq!(memory.take(key), None, "an ack of long ago has arrived");
    }

    #[test]
    fn what_the_broker_writes_at_each_hand_over_does_not_matter() {
        let first = Message::new("b").with_id("m1");
        assert_eq!(key(&first), key(&first.clone().with_header("x-delivery-count", 2_i64)));
    }

    #[test]
    fn id_and_body_cannot_stand_for_each_other_and_without_an_id_nothing_is_known() {
        assert_ne!(key(&Message::new("ab").with_id("c")), key(&Message::new("b").with_id("ca")));
        assert_eq!(CopyKey::of(&Message::new("b")), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_hand_over_that_is_lost_does_not_undo_the_outcome_of_another() {
        let (memory, key) = (Memory::default(), key(&Message::new("b").with_id("m1")));
        let known = KnownStarts { starts: 2, ..KnownStarts::default() };
        memory.remember(key, Remembered::Done);
        memory.remember_open(key, known, true);
        assert_eq!(memory.take(key), Some(Remembered::Done));

        memory.remember(key, Remembered::Done);
        memory.remember_open(key, known, false);
        assert_eq!(memory.take(key), Some(Remembered::Open(known)), "a first hand-over is of another message");

        memory.remember(key, Remembered::Done);
        tokio::time::advance(BELIEVED).await;
        memory.remember_open(key, known, true);
        assert_eq!(memory.take(key), Some(Remembered::Open(known)), "what was done so long ago was another message");
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_remembered_is_given_once_and_the_oldest_is_forgotten() {
        let memory = Memory::default();
        let keys: Vec<_> = (0..=CAPACITY.get()).map(|n| key(&Message::new("b").with_id(n.to_string()))).collect();
        for key in &keys {
            memory.remember(*key, Remembered::Done);
        }
        assert_eq!(memory.take(keys[0]), None);
        assert_eq!(memory.take(keys[1]), Some(Remembered::Done));
        assert_eq!(memory.take(keys[1]), None);
        tokio::time::advance(BELIEVED).await;
        assert_eq!(memory.take(keys[2]), None, "too long ago");
    }
}
