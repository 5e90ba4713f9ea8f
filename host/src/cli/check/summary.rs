//! What a configuration would run, for people.

use std::fmt;
use std::path::Path;

use humantime::format_duration;
use reprieve_sdk::{Jitter, RetryPolicy};

use crate::config::{BrokerConfig, Config, DeduplicateConfig, HandlerConfig, RouteConfig, SecretUrl};
use crate::policy::trust::Trust;
use crate::route::KeySource;

/// A few lines for each route.
pub(super) struct Summary<'c> {
    pub(super) path: &'c Path,
    pub(super) config: &'c Config,
}

impl fmt::Display for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let config = self.config;
        writeln!(f, "{} is right: {}", self.path.display(), count(config.routes.len(), "route"))?;
        for route in &config.routes {
            writeln!(f, "\n{}", route.name)?;
            write_route(f, config, route)?;
        }
        writeln!(f, "\nhost")?;
        let token = if config.host.admin_token.is_some() { ", with a token" } else { "" };
        line(f, "admin", &format!("http://{}{token}", config.host.admin))?;
        line(f, "state", &config.host.state.display())?;
        match &config.policies.folder {
            Some(folder) => line(f, "policies", &format!("{}, watched", folder.display()))?,
            None => line(f, "policies", &"no folder: only the embedded standard policy")?,
        }
        write_trust(f, &config.policies.trust)
    }
}

fn write_route(f: &mut fmt::Formatter<'_>, config: &Config, route: &RouteConfig) -> fmt::Result {
    let broker = config.brokers.get(&route.broker).map_or_else(String::new, describe_broker);
    line(f, "source", &format!("{} of {} ({broker}), {} at a time", route.source, route.broker, route.concurrency))?;
    if let Some(key) = &route.ordering {
        line(f, "ordering", &describe_ordering(route, key))?;
    }
    line(f, "handler", &describe_handler(&route.handler))?;
    if let Some(DeduplicateConfig { by, window }) = &route.deduplicate {
        let known = format!("by {by}, known for {} after a success", format_duration(*window));
        line(f, "duplicates", &known)?;
    }
    match (&route.policy, &config.policies.folder) {
        (Some(policy), Some(folder)) => line(f, "policy", &folder.join(format!("{policy}.wasm")).display())?,
        _ => line(f, "policy", &"standard (embedded)")?,
    }
    if let Some(pin) = &route.policy_digest {
        line(f, "pinned to", pin)?;
        line(f, "", &"no hot swap: to swap, change policy_digest and send SIGHUP")?;
    }
    line(f, "retry", &describe_retry(&route.retry))?;
    let tiers: Vec<&str> = route.tiers.iter().map(|tier| tier.name.as_str()).collect();
    line(f, "tiers", &if tiers.is_empty() { "none".to_owned() } else { tiers.join(", ") })?;
    if route.dead_letters.is_empty() {
        line(f, "dead letters", &"none")?;
    }
    for (index, (label, topic)) in route.dead_letters.iter().enumerate() {
        line(f, if index == 0 { "dead letters" } else { "" }, &format!("{label} -> {topic}"))?;
    }
    Ok(())
}

fn write_trust(f: &mut fmt::Formatter<'_>, trust: &Trust) -> fmt::Result {
    for (index, digest) in trust.allow.iter().flatten().enumerate() {
        line(f, if index == 0 { "allowed" } else { "" }, digest)?;
    }
    if trust.allow.is_some() {
        line(f, "", &"no other file: to swap to one, add it to allow and send SIGHUP")?;
    }
    for (index, key) in trust.public_keys.iter().flatten().enumerate() {
        line(f, if index == 0 { "signed with" } else { "or with" }, &format!("the key {}", key.id()))?;
    }
    Ok(())
}

fn line(f: &mut fmt::Formatter<'_>, name: &str, value: &dyn fmt::Display) -> fmt::Result {
    writeln!(f, "  {name:<14}{value}")
}

fn describe_ordering(route: &RouteConfig, key: &KeySource) -> String {
    let ahead = route.prefetch.unwrap_or_else(|| route.concurrency.saturating_mul(4));
    format!("by {key}, one at a time for each; {ahead} taken ahead")
}

fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

fn describe_broker(broker: &BrokerConfig) -> String {
    match broker {
        BrokerConfig::Memory(_) => "in memory".to_owned(),
        BrokerConfig::RabbitMq(rabbitmq) => format!("RabbitMQ at {}", addresses(&rabbitmq.urls)),
        BrokerConfig::Narad(narad) => format!("Narad at {}", addresses(&narad.urls)),
        BrokerConfig::Kafka(kafka) => format!("Kafka at {}", kafka.servers.join(", ")),
    }
}

fn addresses(urls: &[SecretUrl]) -> String {
    urls.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or ")
}

fn describe_handler(handler: &HandlerConfig) -> String {
    match handler {
        HandlerConfig::Http(http) => format!("POST {}, within {}", http.url, format_duration(http.timeout)),
        HandlerConfig::Command(command) => {
            format!("run {}, within {}", command.program.join(" "), format_duration(command.timeout))
        }
        HandlerConfig::Judge(_) => "none: each message is a failure already".to_owned(),
    }
}

fn describe_retry(retry: &RetryPolicy) -> String {
    if retry.max_attempts <= 1 {
        return "no: one attempt".to_owned();
    }
    let jitter = match retry.jitter {
        Jitter::None => "",
        Jitter::Equal => ", each up to half as long again",
        Jitter::Full => ", each up to twice as long",
    };
    format!(
        "{} attempts, the first delay {}, each further one times {}, at most {}{jitter}",
        retry.max_attempts,
        format_duration(retry.initial_delay),
        retry.factor,
        format_duration(retry.max_delay),
    )
}
