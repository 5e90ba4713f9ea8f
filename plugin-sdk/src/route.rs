//! The route that a policy judges for.

use std::time::Duration;

use crate::RetryPolicy;

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
