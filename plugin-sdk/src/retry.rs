//! When to try again, and when to stop: the `retry` settings of a route.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Problem, duration};

/// How often a message is attempted, and how long to wait between attempts.
///
/// The wait after the failed attempt `n` is `initial_delay × factor^(n-1)`, at most `max_delay`, and
/// then lengthened by the jitter.
///
/// ```
/// use std::time::Duration;
/// use reprieve_sdk::RetryPolicy;
///
/// let retry = RetryPolicy { max_attempts: 4, ..RetryPolicy::default() };
/// let delays: Vec<_> = (1..4).map(|attempt| retry.delay(attempt, 0)).collect();
/// assert_eq!(delays, [100, 200, 400].map(Duration::from_millis));
/// assert!(!retry.exhausted(3));
/// assert!(retry.exhausted(4));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RetryPolicy {
    /// Attempts in all, the first included. 0 means 1: no retry.
    pub max_attempts: u32,
    /// The wait after the first failed attempt.
    #[serde(with = "duration")]
    pub initial_delay: Duration,
    /// The longest wait before jitter.
    #[serde(with = "duration")]
    pub max_delay: Duration,
    /// What each wait is multiplied by to get the next one; 1 or more.
    pub factor: f64,
    /// How waits are spread, so that messages that failed together do not come back together.
    pub jitter: Jitter,
}

/// How a wait is spread. Jitter only ever lengthens it, beyond `max_delay` too: were the sum cut there,
/// all messages that wait the longest would come back at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Jitter {
    /// Not at all.
    #[default]
    None,
    /// Up to half as long again.
    Equal,
    /// Up to twice as long.
    Full,
}

impl Jitter {
    /// The wait, lengthened by as much as `seed`, which is the failure's, says: the same seed gives the same wait.
    /// Saturates.
    ///
    /// ```
    /// use std::time::Duration;
    /// use reprieve_sdk::Jitter;
    ///
    /// let minute = Duration::from_secs(60);
    /// assert_eq!(Jitter::None.lengthen(minute, 7), minute);
    /// assert!((minute..=minute * 2).contains(&Jitter::Full.lengthen(minute, 7)));
    /// ```
    #[must_use]
    pub fn lengthen(self, wait: Duration, seed: u64) -> Duration {
        let share = match self {
            Self::None => return wait,
            Self::Equal => 0.5,
            Self::Full => 1.0,
        };
        let extra = Duration::try_from_secs_f64(wait.as_secs_f64() * share * fraction(seed)).unwrap_or(wait);
        wait.saturating_add(extra)
    }
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_attempts: 0,
            initial_delay: Duration::from_millis(100),
            max_delay: Duration::from_secs(10),
            factor: 2.0,
            jitter: Jitter::None,
        }
    }
}

impl RetryPolicy {
    /// The wait after the failed attempt of this number, counted from 1. `seed` is the failure's: the
    /// same seed gives the same jitter.
    ///
    /// Answers for any number, any factor and any durations: it saturates, and a factor that
    /// [`check`](Self::check) refuses counts as 1.
    #[must_use]
    pub fn delay(&self, attempt: u32, seed: u64) -> Duration {
        self.jitter.lengthen(self.base_delay(attempt), seed)
    }

    fn base_delay(&self, attempt: u32) -> Duration {
        let factor = if self.factor_is_sensible() { self.factor } else { 1.0 };
        if self.initial_delay.is_zero() || factor == 1.0 {
            return self.initial_delay.min(self.max_delay);
        }
        let seconds = self.initial_delay.as_secs_f64() * power(factor, attempt.saturating_sub(1));
        // An infinite or unrepresentable product is longer than any `max_delay`.
        Duration::try_from_secs_f64(seconds).unwrap_or(self.max_delay).min(self.max_delay)
    }

    /// Whether the failed attempt of this number, counted from 1, was the last.
    #[must_use]
    pub const fn exhausted(&self, attempt: u32) -> bool {
        self.max_attempts == 0 || attempt >= self.max_attempts
    }

    /// What is wrong with these settings, with paths from the policy itself (such as `/factor`).
    #[must_use]
    pub fn check(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        if !self.factor_is_sensible() {
            problems.push(Problem::at("/factor", format!("the factor is {}: give a number from 1 up", self.factor)));
        }
        if self.initial_delay > self.max_delay {
            let message = format!(
                "the first wait of {} is longer than max_delay, {}: raise max_delay or lower initial_delay",
                humantime::format_duration(self.initial_delay),
                humantime::format_duration(self.max_delay),
            );
            problems.push(Problem::at("/initial_delay", message));
        }
        problems
    }

    fn factor_is_sensible(&self) -> bool {
        self.factor.is_finite() && self.factor >= 1.0
    }
}

/// Retry settings of which any may be left out, to be laid over a [`RetryPolicy`].
///
/// ```
/// use reprieve_sdk::{RetryOverrides, RetryPolicy};
///
/// let overrides = RetryOverrides { max_attempts: Some(5), ..RetryOverrides::default() };
/// let retry = overrides.over(&RetryPolicy::default());
/// assert_eq!(retry, RetryPolicy { max_attempts: 5, ..RetryPolicy::default() });
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RetryOverrides {
    /// See [`RetryPolicy::max_attempts`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    /// See [`RetryPolicy::initial_delay`].
    #[serde(with = "duration::option", skip_serializing_if = "Option::is_none")]
    pub initial_delay: Option<Duration>,
    /// See [`RetryPolicy::max_delay`].
    #[serde(with = "duration::option", skip_serializing_if = "Option::is_none")]
    pub max_delay: Option<Duration>,
    /// See [`RetryPolicy::factor`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub factor: Option<f64>,
    /// See [`RetryPolicy::jitter`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter: Option<Jitter>,
}

impl RetryOverrides {
    /// The policy `base` with what is set here in place of its own.
    #[must_use]
    pub fn over(&self, base: &RetryPolicy) -> RetryPolicy {
        RetryPolicy {
            max_attempts: self.max_attempts.unwrap_or(base.max_attempts),
            initial_delay: self.initial_delay.unwrap_or(base.initial_delay),
            max_delay: self.max_delay.unwrap_or(base.max_delay),
            factor: self.factor.unwrap_or(base.factor),
            jitter: self.jitter.unwrap_or(base.jitter),
        }
    }
}

/// `base^exponent` by squaring. `f64::powi` and `powf` may round differently from one platform to the
/// next; a recorded failure must get the same verdict on each.
fn power(mut base: f64, mut exponent: u32) -> f64 {
    let mut product = 1.0;
    while exponent > 0 {
        if exponent & 1 == 1 {
            product *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    product
}

/// A number from 0 up to but not including 1, spread evenly even where seeds are small or close
/// together (the finaliser of SplitMix64).
fn fraction(seed: u64) -> f64 {
    let mut bits = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^= bits >> 31;
    // The upper 53 bits are what an f64 holds exactly.
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests;
