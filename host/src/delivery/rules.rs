//! What a route's configuration and its broker allow: the constants of one machine.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use reprieve_sdk::RetryPolicy;

use super::HeaderNames;
use crate::topic::{Tier, Topic};

/// The label of the dead-letter topic that is taken where none is named.
pub(crate) const DEFAULT_LABEL: &str = "default";

/// A route's limits. Made anew each time the route consumes, since a connection has limits of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct Rules {
    /// The route's name.
    pub route: Arc<str>,
    /// The queue or topic that it consumes.
    pub source: Arc<str>,
    /// What our headers are called.
    pub names: HeaderNames,
    /// The route's tiers, shortest first; none where the broker cannot delay.
    pub tiers: Vec<Tier>,
    /// Dead-letter topics by label.
    pub dead_letters: BTreeMap<String, Topic>,
    /// What the fallback goes by where a policy gives no verdict.
    pub retry: RetryPolicy,
    /// The longest retry that may hold a slot (rule 12).
    pub max_retry_delay: Duration,
    /// The longest that a delivery may be held in all, retries and waits together: past it, a retry becomes a delay.
    pub max_hold: Duration,
    /// After so many attempts that ended without a result there is no other: the policy says where the message ends. At
    /// least 1.
    pub max_interruptions: u32,
    /// The longest delay through tiers, hops included.
    pub max_delay: Duration,
    /// The cool-down before a delivery is handed back.
    pub requeue: Doubling,
    /// Handing back cannot make the broker throw the message away (rule 5).
    pub requeue_is_safe: bool,
    /// How a publish that fails is tried again.
    pub publish: PublishRules,
    /// There is a folder for messages that the broker never takes (rule 11).
    pub parks: bool,
    /// The fallback may drop where there is no dead-letter topic. Never the default (rule 7).
    pub allow_drop_on_fault: bool,
    /// The bytes that a copy's headers may take (rule 11).
    pub max_header_bytes: Option<usize>,
}

impl Rules {
    /// Rules for a route with nothing but a name and a source; a place to start from.
    #[must_use]
    pub fn new(route: &str, source: &str) -> Self {
        Self {
            route: route.into(),
            source: source.into(),
            names: HeaderNames::new("reprieve-"),
            tiers: Vec::new(),
            dead_letters: BTreeMap::new(),
            retry: RetryPolicy::default(),
            max_retry_delay: Duration::from_secs(60),
            max_hold: Duration::MAX,
            max_interruptions: 5,
            max_delay: Duration::from_secs(7 * 24 * 60 * 60),
            requeue: Doubling { initial: Duration::from_secs(1), max: Duration::from_secs(60) },
            requeue_is_safe: true,
            publish: PublishRules::default(),
            parks: false,
            allow_drop_on_fault: false,
            max_header_bytes: None,
        }
    }
}

/// A wait that doubles each time, up to a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Doubling {
    /// The first wait. Never zero in effect: see [`Doubling::after`].
    pub initial: Duration,
    /// The longest wait.
    pub max: Duration,
}

impl Doubling {
    /// The wait after `times` earlier ones; at least a millisecond, so that nothing that waits by it can spin.
    #[must_use]
    pub fn after(self, times: u32) -> Duration {
        let factor = 1_u32.checked_shl(times).unwrap_or(u32::MAX);
        self.initial.saturating_mul(factor).min(self.max).max(Duration::from_millis(1))
    }
}

/// How a publish that fails is tried again (rule 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublishRules {
    /// The wait between tries.
    pub backoff: Doubling,
    /// After so many tries the delivery is handed back, where that is safe; at least 1.
    pub tries: u32,
}

impl Default for PublishRules {
    /// Ten tries, from one second apart to thirty: about three minutes.
    fn default() -> Self {
        Self { backoff: Doubling { initial: Duration::from_secs(1), max: Duration::from_secs(30) }, tries: 10 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_doubling_wait_is_bounded_and_never_zero() {
        let wait = Doubling { initial: Duration::from_secs(1), max: Duration::from_secs(60) };
        assert_eq!(wait.after(0), Duration::from_secs(1));
        assert_eq!(wait.after(3), Duration::from_secs(8));
        for times in [6, 31, 32, 33, u32::MAX] {
            assert_eq!(wait.after(times), Duration::from_secs(60), "{times}");
        }
        let nothing = Doubling { initial: Duration::ZERO, max: Duration::ZERO };
        assert!(nothing.after(5) > Duration::ZERO);
    }
}
