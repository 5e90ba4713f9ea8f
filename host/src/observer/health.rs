//! How a route has been doing over the last minute, which its policy is shown with each failure.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::error_kinds::ErrorKinds;
use crate::failure::Health;
use crate::timestamp::Timestamp;

/// The window's length in seconds: the second that is running and the 59 before it.
const SECONDS: usize = 60;

/// One route's counts over the last minute, in buckets of a second.
///
/// Whoever records says what time it is. A clock that is set back loses counts; it cannot make them wrong for
/// longer than a minute. Past 256 error kinds, new ones are counted together, as `other`.
#[derive(Debug)]
pub struct HealthWindow {
    /// In each, the second in the upper half and its count in the lower: a success needs no lock.
    successes: [AtomicU64; SECONDS],
    consecutive_failures: AtomicU32,
    kinds: ErrorKinds,
    failures: Mutex<[Failures; SECONDS]>,
}

/// What went wrong in one second.
#[derive(Debug, Default)]
struct Failures {
    second: u64,
    retries: u32,
    by_kind: HashMap<Arc<str>, u32>,
}

impl HealthWindow {
    /// A route that has not done anything yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            successes: std::array::from_fn(|_| AtomicU64::new(0)),
            consecutive_failures: AtomicU32::new(0),
            kinds: ErrorKinds::default(),
            failures: Mutex::new(std::array::from_fn(|_| Failures::default())),
        }
    }

    /// An attempt succeeded.
    pub fn record_success(&self, now: Timestamp) {
        let second = second(now);
        let recount = |packed| {
            let count = if upper(packed) == second { lower(packed) } else { 0 };
            Some(pack(second, count.saturating_add(1)))
        };
        // The closure never declines, so there is no error to look at.
        let _ = self.successes[slot(second)].fetch_update(Ordering::Relaxed, Ordering::Relaxed, recount);
        if self.consecutive_failures.load(Ordering::Relaxed) != 0 {
            self.consecutive_failures.store(0, Ordering::Relaxed);
        }
    }

    /// An attempt failed. Answers with the counts that this failure's policy is shown, itself included.
    pub fn record_failure(&self, kind: &str, now: Timestamp) -> Health {
        let now = second(now);
        let kind = self.kinds.bounded(kind);
        let successes = self.successes_until(now);
        let consecutive = self.consecutive_failures.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| {
            // `None` keeps the largest number.
            count.checked_add(1)
        });
        let mut health = Health {
            attempts: successes,
            consecutive_failures: consecutive.map_or(u32::MAX, |before| before.saturating_add(1)),
            ..Health::default()
        };

        let mut buckets = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let count = buckets[slot(now)].at(now).by_kind.entry(Arc::clone(&kind)).or_default();
        *count = count.saturating_add(1);
        for bucket in buckets.iter().filter(|bucket| in_window(bucket.second, now)) {
            let failures = bucket.by_kind.values().fold(0, |sum: u32, count| sum.saturating_add(*count));
            let of_this_kind = bucket.by_kind.get(&kind).copied().unwrap_or_default();
            health.failures = health.failures.saturating_add(failures);
            health.failures_of_this_kind = health.failures_of_this_kind.saturating_add(of_this_kind);
            health.retries = health.retries.saturating_add(bucket.retries);
        }
        health.attempts = health.attempts.saturating_add(health.failures);
        health
    }

    /// A retry or a delay was ordered.
    pub fn record_retry(&self, now: Timestamp) {
        let now = second(now);
        let mut buckets = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let bucket = buckets[slot(now)].at(now);
        bucket.retries = bucket.retries.saturating_add(1);
    }

    fn successes_until(&self, now: u64) -> u32 {
        let counts = self.successes.iter().map(|packed| packed.load(Ordering::Relaxed));
        counts.filter(|packed| in_window(upper(*packed), now)).fold(0, |sum, packed| sum.saturating_add(lower(packed)))
    }
}

impl Default for HealthWindow {
    fn default() -> Self {
        Self::new()
    }
}

impl Failures {
    /// This bucket for this second, emptied if it was for another one.
    fn at(&mut self, second: u64) -> &mut Self {
        if self.second != second {
            self.second = second;
            self.retries = 0;
            self.by_kind.clear();
        }
        self
    }
}

/// Seconds since the Unix epoch, as far as 32 bits go: to the year 2106, and from there again from 0.
fn second(time: Timestamp) -> u64 {
    (time.0 / 1000) & u64::from(u32::MAX)
}

/// The bucket that a second goes to.
fn slot(second: u64) -> usize {
    usize::try_from(second % SECONDS as u64).expect("less than 60")
}

fn in_window(second: u64, now: u64) -> bool {
    now.checked_sub(second).is_some_and(|age| age < SECONDS as u64)
}

fn pack(second: u64, count: u32) -> u64 {
    (second << 32) | u64::from(count)
}

fn upper(packed: u64) -> u64 {
    packed >> 32
}

fn lower(packed: u64) -> u32 {
    u32::try_from(packed & u64::from(u32::MAX)).expect("masked to 32 bits")
}

#[cfg(test)]
mod tests;
