//! Which dead-letter queue is meant.

use std::sync::Arc;

use clap::Args;

use crate::broker::Broker;
use crate::cli::ConfigArgument;
use crate::cli::running_host::reachable;
use crate::config::{BrokerConfig, Config, ConfigError, HostConfig, RouteConfig};
use crate::host::configured::broker;
use crate::topic::Topic;

/// The prefix where a configuration says nothing else.
const DEFAULT_PREFIX: &str = "reprieve-";

/// Which queue. Nothing need be said where the configuration has one dead-letter queue only.
#[derive(Debug, Clone, Args)]
pub(super) struct PlaceArguments {
    /// Which configuration.
    #[command(flatten)]
    config: ConfigArgument,

    /// A route of the configuration, whose dead letters are meant
    #[arg(short, long, value_name = "ROUTE", conflicts_with_all = ["broker", "topic"])]
    route: Option<String>,

    /// Which of the route's dead-letter queues
    #[arg(short, long, value_name = "LABEL", requires = "route")]
    label: Option<String>,

    /// A broker of the configuration; not needed where there is only one
    #[arg(short, long, value_name = "NAME", requires = "topic")]
    broker: Option<String>,

    /// A queue by its name, also one that no route names
    #[arg(short, long, value_name = "QUEUE")]
    topic: Option<String>,
}

/// A dead-letter queue on a broker, which is not connected to yet.
pub(super) struct Place {
    pub(super) broker_name: String,
    pub(super) broker: Arc<dyn Broker>,
    pub(super) queue: String,
    /// What our headers may begin with there, the likeliest first.
    pub(super) prefixes: Vec<String>,
}

/// Why there is no such place.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoPlace {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("error: {0}")]
    Unclear(String),
}

impl PlaceArguments {
    pub(super) fn place(&self) -> Result<Place, NoPlace> {
        let config = Config::load(&self.config.config)?;
        let (broker_name, topic, route) = self.choose(&config).map_err(NoPlace::Unclear)?;
        let Topic::Named(queue) = topic else {
            return Err(NoPlace::Unclear(format!(
                "these dead letters go to the exchange and routing key {topic}; name the queue that they end in with \
                 --topic"
            )));
        };
        let found = match config.brokers.get(&broker_name) {
            Some(BrokerConfig::Memory(_)) => {
                return Err(NoPlace::Unclear(format!(
                    "broker '{broker_name}' is in memory: its queues are inside the running host, where no other process \
                     reaches them; that host shows them: {}",
                    curl(&config.host, &broker_name, &queue)
                )));
            }
            Some(remote) => remote,
            None => return Err(NoPlace::Unclear(no_broker(&config, &broker_name))),
        };
        // Nothing is made here: a queue that is missing is a mistake that should be seen.
        let broker = broker(&broker_name, &found.clone().without_declaring())
            .map_err(|error| NoPlace::Unclear(format!("{error:#}")))?;
        Ok(Place { broker, queue, prefixes: prefixes(&config, route), broker_name })
    }

    fn choose<'c>(&self, config: &'c Config) -> Result<(String, Topic, Option<&'c RouteConfig>), String> {
        if let Some(topic) = &self.topic {
            let broker = match (&self.broker, config.brokers.len()) {
                (Some(broker), _) => broker.clone(),
                (None, 1) => config.brokers.keys().next().cloned().unwrap_or_default(),
                (None, _) => {
                    return Err(format!(
                        "there are several brokers; choose one with --broker: {}",
                        names(config.brokers.keys())
                    ));
                }
            };
            return Ok((broker, topic.as_str().into(), None));
        }
        let routes =
            config.routes.iter().filter(|route| self.route.as_ref().is_none_or(|wanted| *wanted == route.name));
        let mut choices: Vec<_> = routes.flat_map(choices).collect();
        if let Some(label) = &self.label {
            choices.retain(|choice| choice.label == label);
        }
        let same = |a: &Choice<'_>, b: &Choice<'_>| a.route.broker == b.route.broker && a.topic == b.topic;
        match &choices[..] {
            [] => Err(self.nothing(config)),
            [first, others @ ..] if others.iter().all(|other| same(first, other)) => {
                Ok((first.route.broker.clone(), first.topic.clone(), Some(first.route)))
            }
            several => {
                let lines = several.iter().map(|choice| {
                    format!("\n  --route {} --label {}   {}", choice.route.name, choice.label, choice.topic)
                });
                Err(format!("there are several dead-letter queues; choose one:{}", lines.collect::<String>()))
            }
        }
    }

    fn nothing(&self, config: &Config) -> String {
        let known = || names(config.routes.iter().map(|route| &route.name));
        match (&self.route, &self.label) {
            (Some(route), _) if !config.routes.iter().any(|known| known.name == *route) => {
                format!("there is no route {route:?}; there are: {}", known())
            }
            (Some(route), Some(label)) => format!("route {route:?} has no dead-letter queue with the label {label:?}"),
            (Some(route), None) => format!("route {route:?} has no dead-letter queue; name a queue with --topic"),
            (None, _) => "no route has a dead-letter queue; name a queue with --topic".to_owned(),
        }
    }
}

struct Choice<'c> {
    route: &'c RouteConfig,
    label: &'c str,
    topic: &'c Topic,
}

fn choices(route: &RouteConfig) -> impl Iterator<Item = Choice<'_>> {
    route.dead_letters.iter().map(move |(label, topic)| Choice { route, label, topic })
}

/// That of the chosen route first; letters of other routes may lie beside its own.
fn prefixes(config: &Config, route: Option<&RouteConfig>) -> Vec<String> {
    let mut prefixes = Vec::new();
    let of_routes = route.into_iter().chain(&config.routes).map(|route| route.header_prefix.as_str());
    for prefix in of_routes.chain([DEFAULT_PREFIX]) {
        if !prefixes.iter().any(|known| known == prefix) {
            prefixes.push(prefix.to_owned());
        }
    }
    prefixes
}

/// How the running host is asked for a queue's messages. The token is left to whoever asks: this is printed.
fn curl(host: &HostConfig, broker: &str, queue: &str) -> String {
    let token = if host.admin_token.is_some() { "--header 'Authorization: Bearer ADMIN_TOKEN' " } else { "" };
    format!("curl {token}'http://{}/topics/{queue}?broker={broker}'", reachable(host.admin))
}

fn no_broker(config: &Config, name: &str) -> String {
    format!("there is no broker {name:?}; there are: {}", names(config.brokers.keys()))
}

fn names<'n>(names: impl Iterator<Item = &'n String>) -> String {
    names.map(String::as_str).collect::<Vec<_>>().join(", ")
}
