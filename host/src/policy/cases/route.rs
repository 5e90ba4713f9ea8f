//! The route that a case is judged on, as it is written.

use std::time::Duration;

use reprieve_sdk::{RetryOverrides, RetryPolicy};
use serde::Deserialize;

use crate::policy::route_record::RouteRecord;
use crate::topic::Tier;

/// A route to try a policy on where none is given: a default dead-letter topic, tiers of 30s, 5m and 30m as in a
/// configuration that says nothing, and five attempts.
#[must_use]
pub fn example_route() -> RouteRecord {
    RouteRecord {
        name: "orders".into(),
        source: "orders".into(),
        tiers: [("30s", 30), ("5m", 300), ("30m", 1800)]
            .map(|(name, seconds)| Tier { name: name.into(), delay: Duration::from_secs(seconds) })
            .into(),
        dead_letters: vec!["default".into()],
        retry: RetryPolicy { max_attempts: 5, ..RetryPolicy::default() },
        max_retry_delay: Duration::from_secs(60),
        max_body: 1024 * 1024,
    }
}

/// What a table says of its route; the rest is [`example_route`]'s.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenRoute {
    name: Option<String>,
    source: Option<String>,
    tiers: Option<Vec<String>>,
    dead_letters: Option<Vec<String>>,
    retry: Option<RetryOverrides>,
    #[serde(default, with = "reprieve_sdk::duration::option")]
    max_retry_delay: Option<Duration>,
    max_body: Option<u32>,
}

impl WrittenRoute {
    /// # Errors
    /// A tier whose name is no duration.
    pub(super) fn record(self) -> Result<RouteRecord, String> {
        let base = example_route();
        let tiers = match self.tiers {
            None => base.tiers,
            Some(names) => {
                let mut tiers = names.into_iter().map(tier).collect::<Result<Vec<_>, _>>()?;
                tiers.sort_by_key(|tier| tier.delay);
                tiers
            }
        };
        Ok(RouteRecord {
            source: self.source.or_else(|| self.name.clone()).unwrap_or(base.source),
            name: self.name.unwrap_or(base.name),
            tiers,
            dead_letters: self.dead_letters.unwrap_or(base.dead_letters),
            retry: self.retry.map_or(base.retry.clone(), |retry| retry.over(&base.retry)),
            max_retry_delay: self.max_retry_delay.unwrap_or(base.max_retry_delay),
            max_body: self.max_body.unwrap_or(base.max_body),
        })
    }
}

fn tier(name: String) -> Result<Tier, String> {
    match humantime::parse_duration(&name) {
        Ok(delay) => Ok(Tier { name, delay }),
        Err(_) => Err(format!("{name:?} is no duration; write one such as \"30s\"")),
    }
}
