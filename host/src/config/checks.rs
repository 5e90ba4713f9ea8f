//! Whether routes, brokers and policies fit together.

mod envelopes;
mod loops;
mod pins;

use std::collections::{BTreeMap, HashMap};

use toml::Spanned;

use super::problem::Problems;
use super::route::WrittenRoute;
use super::suggestion::suggest;
use super::{BrokerConfig, HandlerConfig, PoliciesConfig};
use crate::topic::{TIER_QUEUE_PREFIX, Topic};

/// AMQP's bound for the name of a queue or exchange and for a routing key, in bytes.
const LONGEST_AMQP_NAME: usize = 255;
/// The label of dead letters that have none.
const DEFAULT_LABEL: &str = "default";

/// What a check looks at.
pub(super) struct Checks<'a, 'd> {
    pub(super) problems: &'a Problems<'a>,
    pub(super) routes: &'a [WrittenRoute<'d>],
    /// The names of all brokers, those included that have an error of their own.
    pub(super) broker_names: &'a [&'d str],
    pub(super) brokers: &'a BTreeMap<String, BrokerConfig>,
    pub(super) policies: &'a PoliciesConfig,
}

impl Checks<'_, '_> {
    pub(super) fn run(&self) {
        self.names_are_distinct();
        self.sources_are_distinct();
        for route in self.routes {
            self.broker_exists(route);
            self.policy_has_a_folder(route);
            self.names_are_fit(route);
            self.dead_letters_are_fit(route);
            self.judge_is_fit(route);
        }
        envelopes::check(self);
        pins::check(self);
        loops::check(self);
    }

    fn broker(&self, route: &WrittenRoute<'_>) -> Option<&BrokerConfig> {
        self.brokers.get(*route.broker.as_ref()?.get_ref())
    }

    fn names_are_distinct(&self) {
        let mut lines = HashMap::new();
        for name in self.routes.iter().filter_map(|route| route.name.as_ref()) {
            if let Some(line) = lines.insert(name.get_ref(), self.problems.line(&name.span())) {
                let message = format!("there are two routes `{}`, the other on line {line}", name.get_ref());
                self.problems.error(&name.span(), message, "give each route a name of its own");
            }
        }
    }

    fn sources_are_distinct(&self) {
        let mut seen = HashMap::new();
        for route in self.routes {
            let (Some(broker), Some(source)) = (&route.broker, &route.source) else { continue };
            if let Some(other) = seen.insert((*broker.get_ref(), *source.get_ref()), route) {
                self.problems.error(
                    &source.span(),
                    format!("{} and {} both consume `{}` of broker `{}`", other.title, route.title, source.get_ref(), broker.get_ref()),
                    "one would take the other's messages: let one route consume it, and raise its `concurrency` if need be",
                );
            }
        }
    }

    fn broker_exists(&self, route: &WrittenRoute<'_>) {
        let Some(broker) = &route.broker else { return };
        if self.broker_names.contains(broker.get_ref()) {
            return;
        }
        let message = format!("there is no broker `{}`", broker.get_ref());
        let cure = match self.broker_names {
            [] => format!("add a section [brokers.{}]", broker.get_ref()),
            names => format!("add a section [brokers.{}], or {}", broker.get_ref(), suggest(broker.get_ref(), names)),
        };
        self.problems.error(&broker.span(), message, cure);
    }

    fn policy_has_a_folder(&self, route: &WrittenRoute<'_>) {
        if let Some(policy) = &route.policy
            && self.policies.folder.is_none()
        {
            self.problems.error(
                &policy.span(),
                format!("{} names a policy, and there is no folder of policies", route.title),
                "add folder = \"policies\" to [policies], or leave `policy` out to use the embedded standard policy",
            );
        }
    }

    fn names_are_fit(&self, route: &WrittenRoute<'_>) {
        let amqp = matches!(self.broker(route), Some(BrokerConfig::RabbitMq(_)));
        let narad = matches!(self.broker(route), Some(BrokerConfig::Narad(_)));
        let kafka = matches!(self.broker(route), Some(BrokerConfig::Kafka(_)));
        let check = |text: &str, span| {
            if text.starts_with(TIER_QUEUE_PREFIX) {
                self.problems.error(
                    &span,
                    format!("`{text}` is a tier's own queue: names that begin with {TIER_QUEUE_PREFIX} are ours"),
                    "name another queue",
                );
            } else if amqp && text.len() > LONGEST_AMQP_NAME {
                self.problems.error(
                    &span,
                    format!("this name has {} bytes; RabbitMQ allows {LONGEST_AMQP_NAME}", text.len()),
                    "write a shorter name",
                );
            } else if kafka && !crate::broker::kafka::is_topic_name(text) {
                self.problems.error(
                    &span,
                    format!("`{}` cannot be the name of a topic", text.escape_debug()),
                    "write at most 249 letters, digits, `.`, `_` and `-`",
                );
            } else if narad && !is_narad_name(text) {
                self.problems.error(
                    &span,
                    format!("\"{}\" cannot be the name of a topic of Narad", text.escape_debug()),
                    "write 1 to 200 letters, digits, `-`, `_` and `.`",
                );
            }
        };
        if let Some(source) = &route.source {
            check(source.get_ref(), source.span());
        }
        for topic in route.dead_letters.values() {
            match topic.get_ref() {
                Topic::Named(name) => check(name, topic.span()),
                Topic::Exchange { exchange, routing_key } => {
                    check(exchange, topic.span());
                    check(routing_key, topic.span());
                }
            }
        }
    }

    fn dead_letters_are_fit(&self, route: &WrittenRoute<'_>) {
        let without_exchanges = match self.broker(route) {
            Some(BrokerConfig::Memory(_)) => Some(("the memory broker has no exchanges", "write the name of a queue")),
            Some(BrokerConfig::Narad(_)) => Some(("Narad has no exchanges", "write the name of a topic")),
            Some(BrokerConfig::Kafka(_)) => Some(("Kafka has no exchanges", "write the name of a topic")),
            Some(BrokerConfig::RabbitMq(_)) | None => None,
        };
        if let Some((message, cure)) = without_exchanges {
            for topic in route.dead_letters.values().filter(|topic| matches!(topic.get_ref(), Topic::Exchange { .. })) {
                self.problems.error(&topic.span(), message, cure);
            }
        }
        if !route.dead_letters.contains_key(DEFAULT_LABEL) {
            self.problems.warning(
                &route.name.as_ref().map_or_else(|| route.span.clone(), Spanned::span),
                format!(
                    "{} has no default dead-letter topic: a message that has failed for good is dropped",
                    route.title
                ),
                "add dead_letters = { default = \"…\" }",
            );
        }
    }

    fn judge_is_fit(&self, route: &WrittenRoute<'_>) {
        let Some(handler) = &route.handler else { return };
        let HandlerConfig::Judge(judge) = handler.get_ref() else { return };
        if let Some(deduplicate) = &route.deduplicate {
            self.problems.error(
                &deduplicate.span(),
                format!("{} has no handler, so no success by which it could know a duplicate", route.title),
                "leave `deduplicate` out, or set it on the route that calls the handler",
            );
        }
        if route.tiers.is_empty() {
            self.problems.warning(
                route.tiers_place.as_ref().unwrap_or(&route.span),
                format!("{} judges without tiers, so that no message can go back to its origin", route.title),
                "give the route at least one tier",
            );
        }
        if judge
            .origin
            .as_deref()
            .is_some_and(|origin| route.source.as_ref().is_some_and(|source| *source.get_ref() == origin))
        {
            self.problems.error(
                &handler.span(),
                "`origin` is the route's own source: a message would come back to be judged without having been tried",
                "name the queue that the consumer reads, whose dead letters arrive here",
            );
        }
    }
}

/// What Narad allows a topic to be called.
fn is_narad_name(name: &str) -> bool {
    const LONGEST: usize = 200;
    let allowed = |character: char| character.is_ascii_alphanumeric() || "._-".contains(character);
    !matches!(name, "." | "..") && name.len() <= LONGEST && name.chars().all(allowed)
}
