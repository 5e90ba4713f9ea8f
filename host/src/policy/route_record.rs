//! What a policy is told of its route.

use std::time::Duration;

use reprieve_sdk::{Jitter, RetryPolicy};
use serde::Serialize;

use super::bindings::reprieve::policy::types as wit;
use crate::timestamp::millis;
use crate::topic::Tier;

/// A route as the policy that judges for it sees it. Part of what a revision's digest is taken from.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RouteRecord {
    /// The route's name.
    pub name: String,
    /// The queue or topic that it consumes.
    pub source: String,
    /// The durable delays that it can use, shortest first.
    pub tiers: Vec<Tier>,
    /// The labels that a dead letter may carry, `default` among them where there is one.
    pub dead_letters: Vec<String>,
    /// The route's `retry` settings.
    pub retry: RetryPolicy,
    /// The longest retry in process; a longer one goes through a tier.
    pub max_retry_delay: Duration,
    /// The bytes of a message body that a policy may be given, at most.
    pub max_body: u32,
}

impl RouteRecord {
    /// Runs `call` with the record as the interface has it.
    pub(super) fn lower<R>(&self, call: impl FnOnce(wit::Route<'_>) -> R) -> R {
        let tiers: Vec<_> = self.tiers.iter().map(lower_tier).collect();
        let dead_letters: Vec<_> = self.dead_letters.iter().map(String::as_str).collect();
        call(wit::Route {
            name: &self.name,
            source: &self.source,
            tiers: &tiers,
            dead_letters: &dead_letters,
            retry: lower_retry(&self.retry),
            limits: wit::Limits { max_retry_delay: millis(self.max_retry_delay), max_body: self.max_body },
            attributes: &[],
        })
    }
}

fn lower_tier(tier: &Tier) -> wit::Tier<'_> {
    wit::Tier { name: &tier.name, delay: millis(tier.delay) }
}

fn lower_retry(retry: &RetryPolicy) -> wit::RetrySettings {
    wit::RetrySettings {
        max_attempts: retry.max_attempts,
        initial_delay: millis(retry.initial_delay),
        max_delay: millis(retry.max_delay),
        factor: retry.factor,
        jitter: match retry.jitter {
            Jitter::None => wit::Jitter::None,
            Jitter::Equal => wit::Jitter::Equal,
            Jitter::Full => wit::Jitter::Full,
        },
    }
}
