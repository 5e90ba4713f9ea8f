//! Which messages were handed over before. Narad does not say so: what it hands over again is the same to the byte.

use std::num::NonZero;
use std::sync::{Mutex, PoisonError};

use lru::LruCache;

use super::record::Place;

/// So many places are remembered, some hundred bytes each.
const REMEMBERED: NonZero<usize> = NonZero::new(65_536).expect("not zero");

/// The places that messages were handed over from, until the process ends.
pub(super) struct Seen(Mutex<LruCache<Place, ()>>);

impl Seen {
    pub(super) fn new() -> Self {
        Self(Mutex::new(LruCache::new(REMEMBERED)))
    }

    /// Remembers a place; whether it was remembered already.
    pub(super) fn again(&self, place: Place) -> bool {
        // What is guarded is whole after every change.
        self.0.lock().unwrap_or_else(PoisonError::into_inner).put(place, ()).is_some()
    }
}
