//! What was decided on partitions that have left, though no commit says so (rule 13). Bounded, and gone with the process.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::num::NonZeroUsize;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use lru::LruCache;

use crate::message::Message;

/// Partitions remembered; the one that left longest ago is forgotten first. Each has no more records than its window.
const CAPACITY: NonZeroUsize = NonZeroUsize::new(1000).expect("not zero");

/// Names a partition of one group.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub(super) group: Arc<str>,
    pub(super) topic: Arc<str>,
    pub(super) partition: i32,
}

/// What this host knows of a partition that it had before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Past {
    /// Records below this were handed out here.
    pub(super) seen_below: Option<i64>,
    /// Records whose outcome is durable, by offset, with the digest of each: a topic that was made anew has others there.
    pub(super) decided: BTreeMap<i64, u64>,
}

/// The partitions that have left, of every consumer of one broker.
#[derive(Debug)]
pub(in crate::broker::kafka) struct Remembered(Mutex<LruCache<Place, Past>>);

impl Default for Remembered {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(CAPACITY)))
    }
}

impl Remembered {
    /// A partition has left.
    pub(super) fn leave(&self, place: &Place, seen_below: Option<i64>, decided: BTreeMap<i64, u64>) {
        let mut places = self.lock();
        let past = places.get_or_insert_mut(place.clone(), Past::default);
        past.seen_below = past.seen_below.max(seen_below);
        past.decided.extend(decided);
    }

    /// A record of a partition that has left was decided after it left.
    pub(super) fn decide(&self, place: &Place, offset: i64, digest: u64) {
        self.leave(place, Some(offset.saturating_add(1)), BTreeMap::from([(offset, digest)]));
    }

    /// A partition is here again, and what is committed of it: what is known of the rest, once.
    pub(super) fn come_back(&self, place: &Place, position: Option<i64>) -> Past {
        let mut past = self.lock().pop(place).unwrap_or_default();
        if let Some(position) = position {
            past.decided = past.decided.split_off(&position);
        }
        past
    }

    /// Whether a record was decided after its partition had left, and perhaps come back: told once.
    pub(super) fn take(&self, place: &Place, offset: i64, digest: impl FnOnce() -> u64) -> bool {
        let decided = self.lock().peek_mut(place).and_then(|past| past.decided.remove(&offset));
        decided.is_some_and(|decided| decided == digest())
    }

    fn lock(&self) -> MutexGuard<'_, LruCache<Place, Past>> {
        // Nothing in here can be left half-done by a panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// So much of a body is looked at, in bytes: it is done for nearly every record.
const DIGESTED: usize = 4096;

/// Tells a record from one that stands at the same offset of a topic that was made anew, within this process.
pub(super) fn digest(message: &Message) -> u64 {
    static KEYS: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    let mut hasher = KEYS.build_hasher();
    message.key.hash(&mut hasher);
    message.timestamp.map(|at| at.0).hash(&mut hasher);
    message.body_size().hash(&mut hasher);
    message.body.as_ref().map(|body| &body[..body.len().min(DIGESTED)]).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timestamp::Timestamp;

    fn place(partition: i32) -> Place {
        Place { group: "g".into(), topic: "orders".into(), partition }
    }

    #[test]
    fn what_was_decided_beyond_the_committed_position_is_known_once() {
        let remembered = Remembered::default();
        remembered.leave(&place(0), Some(9), BTreeMap::from([(5, 50), (7, 70)]));
        remembered.decide(&place(0), 8, 80);
        let past = remembered.come_back(&place(0), Some(6));
        assert_eq!(past, Past { seen_below: Some(9), decided: BTreeMap::from([(7, 70), (8, 80)]) });
        assert_eq!(remembered.come_back(&place(0), Some(6)), Past::default());
    }

    #[test]
    fn what_is_decided_after_its_partition_came_back_is_known_when_it_is_handed_out() {
        let remembered = Remembered::default();
        remembered.come_back(&place(0), Some(5));
        remembered.decide(&place(0), 7, 70);
        remembered.decide(&place(0), 8, 80);
        assert!(!remembered.take(&place(0), 6, || 60));
        assert!(remembered.take(&place(0), 7, || 70));
        assert!(!remembered.take(&place(0), 7, || 70), "once");
        assert!(!remembered.take(&place(0), 8, || 81), "another record");
    }

    #[test]
    fn a_record_of_another_content_or_time_is_another_record() {
        let record = Message { timestamp: Some(Timestamp(1)), ..Message::new("a") };
        assert_eq!(digest(&record), digest(&record.clone()));
        let later = Message { timestamp: Some(Timestamp(2)), ..record.clone() };
        let tombstone = Message { body: None, ..record.clone() };
        let keyed = Message { key: Some("a".into()), ..record.clone() };
        for other in [later, tombstone, keyed] {
            assert_ne!(digest(&record), digest(&other));
        }
    }

    #[test]
    fn the_partition_that_left_longest_ago_is_forgotten() {
        let remembered = Remembered::default();
        for partition in 0..=1000 {
            remembered.decide(&place(partition), 1, 1);
        }
        assert_eq!(remembered.come_back(&place(0), None), Past::default());
        assert_ne!(remembered.come_back(&place(1), None), Past::default());
    }
}
