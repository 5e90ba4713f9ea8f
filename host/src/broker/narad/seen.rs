//! Which messages were handed over before. Narad does not say so: what it hands over again is the same to the byte.
//!
//! Three things tell: this process had the message in hand; or a partition hands out the lowest message that is free, and one above it
//! came before, so it was in somebody's hands then; or it is among the first of its topic since the process began, and older than
//! that, so that it may have been in the hands of the one before.

use std::collections::HashMap;
use std::num::NonZero;
use std::sync::{Arc, Mutex, PoisonError};

use lru::LruCache;

use super::record::Place;
use crate::timestamp::Timestamp;

/// So many places are remembered, some hundred bytes each.
const REMEMBERED: NonZero<usize> = NonZero::new(65_536).expect("not zero");

/// What was handed over, until the process ends.
pub(super) struct Seen {
    /// When this began, by the clock of this machine.
    since: Timestamp,
    state: Mutex<State>,
}

struct State {
    places: LruCache<Place, ()>,
    /// The highest offset of each partition that was handed over.
    highest: HashMap<(Arc<str>, u32), u64>,
    /// Messages of each topic that are older than this and were handed over.
    older: HashMap<Arc<str>, usize>,
}

impl Seen {
    pub(super) fn new(since: Timestamp) -> Self {
        let (highest, older) = (HashMap::new(), HashMap::new());
        Self { since, state: Mutex::new(State { places: LruCache::new(REMEMBERED), highest, older }) }
    }

    /// Remembers a message that is handed over; whether it was before, or may have been. `stored` is when Narad stored it, and
    /// `prefetch` how many a process before this one may have had in hand.
    pub(super) fn again(&self, place: &Place, stored: Timestamp, prefetch: usize) -> bool {
        // What is guarded is whole after every change.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let had = state.places.put(place.clone(), ()).is_some();
        let highest = state.highest.entry((Arc::clone(&place.topic), place.partition)).or_insert(place.offset);
        let was_passed = place.offset < *highest;
        *highest = place.offset.max(*highest);
        if had || was_passed {
            return true;
        }
        // Narad counts in whole seconds.
        if stored.0 / 1000 >= self.since.0 / 1000 {
            return false;
        }
        let older = state.older.entry(Arc::clone(&place.topic)).or_default();
        *older = older.saturating_add(1);
        *older <= prefetch
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: Timestamp = Timestamp(1_000_000);
    const START: Timestamp = Timestamp(2_000_500);

    fn again(seen: &Seen, partition: u32, offset: u64, stored: Timestamp) -> bool {
        seen.again(&Place { topic: "orders".into(), partition, offset }, stored, 2)
    }

    #[test]
    fn a_message_that_was_in_hand_is_known() {
        let seen = Seen::new(START);
        assert!(!again(&seen, 0, 5, START));
        assert!(again(&seen, 0, 5, START));
        assert!(!again(&seen, 1, 5, START));
    }

    #[test]
    fn a_message_below_one_that_came_before_was_in_somebodys_hands() {
        let seen = Seen::new(START);
        assert!(!again(&seen, 0, 5, START));
        assert!(again(&seen, 0, 3, START));
        assert!(!again(&seen, 0, 6, START));
    }

    #[test]
    fn the_first_older_messages_of_a_topic_may_have_been_in_the_hands_of_the_process_before() {
        let seen = Seen::new(START);
        let each: Vec<bool> = (0..4).map(|offset| again(&seen, 0, offset, BEFORE)).collect();
        assert_eq!(each, [true, true, false, false]);
    }
}
