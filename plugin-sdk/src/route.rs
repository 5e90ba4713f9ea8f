//! The route that a policy judges for.

use std::time::Duration;

use crate::{Problem, RetryPolicy};

/// The route that a policy judges for, known when it is configured.
///
/// Hosts make these. A test makes its own:
///
/// ```
/// use std::time::Duration;
/// use reprieve_sdk::Route;
///
/// let route = Route::new("orders").with_tier("5m", Duration::from_secs(300)).with_dead_letter("default");
/// assert!(route.has_dead_letter("default"));
/// assert!(route.has_tier("5m"));
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Route {
    /// Its name in the configuration.
    pub name: String,
    /// The queue or topic that it consumes.
    pub source: String,
    /// The durable delays that it can use, shortest first.
    pub tiers: Vec<Tier>,
    /// The labels that a dead letter may carry; `default` is what a dead letter without a label means.
    pub dead_letters: Vec<String>,
    /// Its `retry` settings.
    pub retry: RetryPolicy,
    /// What the host grants.
    pub limits: Limits,
    /// Facts that have no field of their own, as `(name, value)`. No host gives any yet.
    pub attributes: Vec<(String, String)>,
}

/// A durable delay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tier {
    /// Its name, as the configuration writes it, such as `5m`.
    pub name: String,
    /// How long a message stays in it.
    pub delay: Duration,
}

/// What the host grants on a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The longest retry in process; a longer one goes through a tier. Zero on a route without a handler.
    pub max_retry_delay: Duration,
    /// The bytes of a message body that a policy may be given, at most.
    pub max_body: u32,
}

impl Route {
    /// A route that consumes the queue of its own name, with the default retry settings, no tiers and
    /// no dead-letter topics, retries of up to a minute and bodies of up to 64 KiB.
    pub fn new(name: impl Into<String>) -> Self {
        let name = name.into();
        Self {
            source: name.clone(),
            name,
            tiers: Vec::new(),
            dead_letters: Vec::new(),
            retry: RetryPolicy::default(),
            limits: Limits { max_retry_delay: Duration::from_secs(60), max_body: 64 * 1024 },
            attributes: Vec::new(),
        }
    }

    /// Whether a dead letter may carry this label.
    #[must_use]
    pub fn has_dead_letter(&self, label: &str) -> bool {
        self.dead_letters.iter().any(|known| known == label)
    }

    /// Whether there is a tier of this name.
    #[must_use]
    pub fn has_tier(&self, name: &str) -> bool {
        self.tiers.iter().any(|tier| tier.name == name)
    }

    /// The tier of this name, which the setting at `path` (a JSON pointer) gives.
    ///
    /// # Errors
    /// There is none; the problem names those that there are.
    pub fn require_tier(&self, name: &str, path: impl Into<String>) -> Result<&Tier, Problem> {
        self.tiers.iter().find(|tier| tier.name == name).ok_or_else(|| {
            let known = list(self.tiers.iter().map(|tier| tier.name.as_str()));
            Problem::at(path, format!("the route has no tier {name:?}; its tiers: {known}"))
        })
    }

    /// Checks that a dead letter may carry this label, which the setting at `path` (a JSON pointer) gives.
    ///
    /// # Errors
    /// It may not; the problem names the labels that there are.
    pub fn require_dead_letter(&self, label: &str, path: impl Into<String>) -> Result<(), Problem> {
        if self.has_dead_letter(label) {
            return Ok(());
        }
        let known = list(self.dead_letters.iter().map(String::as_str));
        Err(Problem::at(path, format!("the route has no dead-letter topic labelled {label:?}; its labels: {known}")))
    }

    /// How long a message is away that is delayed by `delay`: as long or longer, since the host rounds up to a
    /// tier, and goes through the longest one several times for a delay beyond that. `None` where the route has
    /// no tiers.
    ///
    /// ```
    /// use std::time::Duration;
    /// use reprieve_sdk::Route;
    ///
    /// let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
    /// let route = Route::new("orders").with_tier("1m", minutes(1)).with_tier("10m", minutes(10));
    /// assert_eq!(route.time_away(minutes(3)), Some(minutes(10)));
    /// assert_eq!(route.time_away(minutes(21)), Some(minutes(21)));
    /// ```
    #[must_use]
    pub fn time_away(&self, delay: Duration) -> Option<Duration> {
        let longest = self.tiers.last()?.delay.as_nanos().max(1);
        // The last hop is never left empty: a delay of exactly the longest tier is one hop.
        let hops = delay.as_nanos().saturating_sub(1) / longest;
        let rest = delay.as_nanos() - hops * longest;
        let last = self.tiers.iter().map(|tier| tier.delay.as_nanos()).find(|tier| *tier >= rest).unwrap_or(longest);
        Some(from_nanos((hops * longest).saturating_add(last)))
    }

    /// The same route with one more tier, put where its delay belongs.
    #[must_use]
    pub fn with_tier(mut self, name: impl Into<String>, delay: Duration) -> Self {
        self.tiers.push(Tier { name: name.into(), delay });
        self.tiers.sort_by_key(|tier| tier.delay);
        self
    }

    /// The same route with one more dead-letter label.
    #[must_use]
    pub fn with_dead_letter(mut self, label: impl Into<String>) -> Self {
        self.dead_letters.push(label.into());
        self
    }

    /// The same route with these retry settings.
    #[must_use]
    pub fn with_retry(mut self, retry: RetryPolicy) -> Self {
        self.retry = retry;
        self
    }

    /// The same route with these limits.
    #[must_use]
    pub const fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<_> = names.collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// Saturating.
fn from_nanos(nanos: u128) -> Duration {
    const SECOND: u128 = 1_000_000_000;
    let within = u32::try_from(nanos % SECOND).expect("less than a thousand million");
    u64::try_from(nanos / SECOND).map_or(Duration::MAX, |seconds| Duration::new(seconds, within))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn route(tiers: &[u64]) -> Route {
        tiers.iter().fold(Route::new("orders"), |route, seconds| {
            route.with_tier(format!("{seconds}s"), Duration::from_secs(*seconds))
        })
    }

    #[test]
    fn a_delay_is_rounded_up_to_a_tier_at_each_hop() {
        let away = |tiers: &[u64], delay| route(tiers).time_away(Duration::from_secs(delay)).map(|time| time.as_secs());
        assert_eq!(away(&[], 1), None);
        for (delay, time) in [(0, 30), (30, 30), (31, 300), (300, 300), (301, 330), (600, 600), (631, 900)] {
            assert_eq!(away(&[30, 300], delay), Some(time), "{delay} s");
        }
    }

    proptest! {
        #[test]
        fn the_time_away_is_never_shorter_than_the_delay(
            tiers in proptest::collection::vec(0u64..100_000, 1..5),
            delay in prop_oneof![any::<Duration>(), (0u64..1_000_000).prop_map(Duration::from_secs)],
        ) {
            let away = route(&tiers).time_away(delay).unwrap();
            prop_assert!(away >= delay);
            let longest = Duration::from_secs(*tiers.iter().max().unwrap());
            prop_assert!(away <= delay.saturating_add(longest));
        }
    }
}
