//! What routes ask of their brokers, beside what those can do.

use humantime::format_duration;

use super::Config;
use super::problem::{Problem, Severity};
use crate::broker::Capabilities;
use crate::route::KeySource;

impl Config {
    /// Compares the routes with what their brokers can do, by broker name. What was asked for and cannot be is
    /// returned as errors; tiers that are only there because the host has them are taken off.
    pub fn fit(&mut self, capabilities: impl Fn(&str) -> Option<Capabilities>) -> Vec<Problem> {
        let mut problems = Vec::new();
        for (route, place) in self.routes.iter_mut().zip(&self.places) {
            let Some(capabilities) = capabilities(&route.broker) else { continue };
            let mut error = |span, message: String, cure: &str| {
                problems.push(Problem::new(Severity::Error, &self.source, span, &message, cure));
            };
            if !capabilities.tiers && !route.tiers.is_empty() {
                match &place.tiers {
                    Some(span) => error(
                        span,
                        format!(
                            "the broker `{}` cannot delay messages, so route `{}` can have no tiers",
                            route.broker, route.name
                        ),
                        "write tiers = [], or leave it out",
                    ),
                    None => route.tiers.clear(),
                }
            }
            if !capabilities.partitions
                && let Some(span) = place.ordering.as_ref().filter(|_| route.ordering == Some(KeySource::Partition))
            {
                error(
                    span,
                    format!("the broker `{}` has no partitions to order route `{}` by", route.broker, route.name),
                    "write ordering = \"key\" or ordering = \"none\"",
                );
            }
            if !capabilities.partitions
                && let Some(span) = &place.group
            {
                error(
                    span,
                    format!("the broker `{}` has no consumer groups", route.broker),
                    "leave `group` out of this route",
                );
            }
            if let (Some(delay), Some(span)) = (route.max_retry_delay, &place.max_retry_delay)
                && delay > capabilities.max_retry_delay
            {
                let longest = format_duration(capabilities.max_retry_delay);
                error(
                    span,
                    format!("the broker `{}` lets no delivery be held for {}", route.broker, format_duration(delay)),
                    &format!("write at most \"{longest}\"; longer delays go through tiers"),
                );
            }
        }
        problems
    }
}
