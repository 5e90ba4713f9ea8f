//! Which keys are in work on a route.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::route::key::KeyDigest;

/// The keys in work, for as long as the route lives: a handler may outlive the consumer that brought its message.
#[derive(Debug, Default)]
pub(in crate::route) struct Lanes {
    state: Mutex<State>,
    freed: Notify,
    /// The log has said that there are messages without a key.
    pub(super) told_of_no_key: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    /// Whether somebody waits for the key's end.
    busy: HashMap<KeyDigest, bool>,
    /// Keys that have become free while somebody waited, first come first.
    freed: VecDeque<KeyDigest>,
}

impl Lanes {
    /// Takes a free key. Where it is in work, its end will be told by [`Lanes::next_freed`]; where it is free,
    /// `others_wait` says whether the new end shall be.
    pub(super) fn claim(self: &Arc<Self>, key: KeyDigest, others_wait: bool) -> Option<Lane> {
        let mut state = self.lock();
        if let Some(awaited) = state.busy.get_mut(&key) {
            *awaited = true;
            return None;
        }
        state.busy.insert(key, others_wait);
        Some(Lane { lanes: Arc::clone(self), key })
    }

    /// A key that has become free and was waited for.
    pub(super) fn next_freed(&self) -> Option<KeyDigest> {
        self.lock().freed.pop_front()
    }

    /// Ends when there may be a freed key. For one caller.
    pub(super) async fn freed(&self) {
        self.freed.notified().await;
    }

    #[cfg(test)]
    pub(super) fn busy(&self) -> usize {
        self.lock().busy.len()
    }

    fn free(&self, key: KeyDigest) {
        let mut state = self.lock();
        if state.busy.remove(&key) == Some(true) {
            state.freed.push_back(key);
            self.freed.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing in here can be left half-done by a panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A key in work. Dropping it frees the key.
#[derive(Debug)]
pub(super) struct Lane {
    lanes: Arc<Lanes>,
    key: KeyDigest,
}

impl Drop for Lane {
    fn drop(&mut self) {
        self.lanes.free(self.key);
    }
}
