//! What a route remembers of deliveries that went back to the broker (rules 9 and 13). Bounded, and gone with the process.

use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lru::LruCache;
use sha2::{Digest, Sha256};

use crate::delivery::KnownStarts;
use crate::message::Message;

/// Copies remembered on one route; the one that was seen longest ago is forgotten first.
const CAPACITY: NonZeroUsize = NonZeroUsize::new(10_000).expect("not zero");

/// A copy, by id, count and body. A delayed copy has another count, so it is another copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct CopyKey([u8; 32]);

impl CopyKey {
    pub(super) fn of(message: &Message, attempts_header: &str) -> Self {
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
        let count = message.headers.get(attempts_header).and_then(crate::message::HeaderValue::as_i64);
        add(count.map(i64::to_le_bytes).as_ref().map(<[u8; 8]>::as_slice));
        add(message.body.as_deref());
        Self(digest.finalize().into())
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

#[derive(Debug)]
pub(super) struct Memory(Mutex<LruCache<CopyKey, Remembered>>);

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
        self.lock().put(key, what);
    }

    /// What is known of a copy, once: who takes it must remember it again if the copy goes back again.
    pub(super) fn take(&self, key: CopyKey) -> Option<Remembered> {
        self.lock().pop(&key)
    }

    fn lock(&self) -> MutexGuard<'_, LruCache<CopyKey, Remembered>> {
        // Nothing in here can be left half-done by a panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(message: &Message) -> CopyKey {
        CopyKey::of(message, "reprieve-attempts")
    }

    #[test]
    fn a_delayed_copy_is_not_the_copy_that_it_was_made_from() {
        let first = Message::new("b").with_id("m1");
        let delayed = first.clone().with_header("reprieve-attempts", 1_u32);
        assert_ne!(key(&first), key(&delayed));
    }

    #[test]
    fn id_and_body_cannot_stand_for_each_other() {
        assert_ne!(key(&Message::new("ab").with_id("c")), key(&Message::new("b").with_id("ca")));
        assert_ne!(key(&Message::new("")), key(&Message::default()));
    }

    #[test]
    fn what_is_remembered_is_given_once_and_the_oldest_is_forgotten() {
        let memory = Memory::default();
        let keys: Vec<_> = (0..=CAPACITY.get()).map(|n| key(&Message::new(n.to_string()))).collect();
        for key in &keys {
            memory.remember(*key, Remembered::Done);
        }
        assert_eq!(memory.take(keys[0]), None);
        assert_eq!(memory.take(keys[1]), Some(Remembered::Done));
        assert_eq!(memory.take(keys[1]), None);
    }
}
