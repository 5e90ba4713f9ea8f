//! From a configuration to what a host is made of.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use regex::Regex;

use super::{HostSpec, HostedRoute};
use crate::broker::kafka::{Kafka, KafkaSettings};
use crate::broker::memory::MemoryBroker;
use crate::broker::narad::{Narad, NaradSettings};
use crate::broker::rabbitmq::{RabbitMq, RabbitMqSettings};
use crate::broker::{Broker, BrokerError};
use crate::config::{
    BrokerConfig, Config, ConfigError, HandlerConfig, JournalConfig, KafkaConfig, NaradConfig, PoliciesConfig,
    RabbitMqConfig, RouteConfig,
};
use crate::delivery::Doubling;
use crate::handler::command::{CommandHandler, CommandSettings};
use crate::handler::http::{HttpHandler, HttpSettings};
use crate::handler::judge::JudgeSettings;
use crate::journal::{self, JournalSettings, Keeping, Mask};
use crate::observer::Observer;
use crate::policy::engine::EngineLimits;
use crate::policy::registry::PolicySettings;
use crate::route::{Deduplicate, RouteSpec, RouteWork};
use crate::store::Store;

impl HostSpec {
    /// The host that a configuration describes. Connects to nothing. Tiers that nobody asked for by name are taken
    /// off routes whose broker cannot delay.
    ///
    /// # Errors
    /// A route asks for what its broker cannot do, or a broker's or handler's settings cannot be used; the message
    /// names the broker or route.
    pub fn from_config(config: &mut Config) -> Result<Self, ConfigError> {
        let mut memory_brokers = BTreeMap::new();
        let mut brokers: BTreeMap<String, Arc<dyn Broker>> = BTreeMap::new();
        for (name, broker) in &config.brokers {
            let made: Arc<dyn Broker> = match broker {
                BrokerConfig::Memory(memory) => {
                    let broker = MemoryBroker::new(memory.capacity);
                    memory_brokers.insert(name.clone(), broker.clone());
                    Arc::new(broker)
                }
                remote => self::broker(name, remote).map_err(unusable)?,
            };
            brokers.insert(name.clone(), made);
        }
        let problems = config.fit(|name| brokers.get(name).map(|broker| broker.capabilities()));
        if !problems.is_empty() {
            return Err(ConfigError::Invalid(problems));
        }
        let store = store(config).map_err(unusable)?;
        let park = config.host.park.as_deref();
        let routes = config.routes.iter().map(|route| hosted(route, &brokers, park, store.as_ref()));
        let routes = routes.collect::<anyhow::Result<_>>().map_err(unusable)?;
        Ok(Self {
            routes,
            policies: PolicySettings {
                folder: config.policies.folder.clone(),
                state: Some(config.host.state.clone()),
                rescan: config.policies.rescan,
                trust: config.policies.trust.clone(),
                ..PolicySettings::default()
            },
            limits: limits(&config.policies),
            state: Some(config.host.state.clone()),
            journal: config.journal.as_ref().map(|journal| self::journal(journal, &config.host.state)),
            shutdown_timeout: config.host.shutdown_timeout,
            memory_brokers,
            observer: Observer::new(),
        })
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that map_err takes")]
fn unusable(error: anyhow::Error) -> ConfigError {
    ConfigError::Unusable(format!("{error:#}"))
}

/// A broker outside of this process, as it is configured. Connects to nothing.
///
/// # Errors
/// Its settings cannot be used, or it is in memory: then it is inside the host that runs it.
pub(crate) fn broker(name: &str, config: &BrokerConfig) -> anyhow::Result<Arc<dyn Broker>> {
    Ok(match config {
        BrokerConfig::Memory(_) => anyhow::bail!("broker {name:?} is inside the running host"),
        BrokerConfig::RabbitMq(settings) => Arc::new(rabbitmq(name, settings)?),
        BrokerConfig::Kafka(settings) => Arc::new(Kafka::new(&kafka(name, settings))?),
        BrokerConfig::Narad(settings) => Arc::new(narad(name, settings)?),
    })
}

fn rabbitmq(name: &str, settings: &RabbitMqConfig) -> Result<RabbitMq, BrokerError> {
    let urls = settings.urls.iter().map(|url| url.expose().as_str().to_owned()).collect();
    let management = settings.management.as_ref().map(|url| url.expose().as_str().to_owned());
    RabbitMq::new(&RabbitMqSettings {
        urls,
        tls: settings.tls.clone(),
        declare: settings.declare,
        management,
        consumer_timeout: settings.consumer_timeout,
        ..RabbitMqSettings::new(name, "")
    })
}

fn kafka(name: &str, config: &KafkaConfig) -> KafkaSettings {
    let client = config.settings.iter().map(|(name, value)| (name.clone(), value.expose().to_owned())).collect();
    KafkaSettings {
        name: name.to_owned(),
        servers: config.servers.clone(),
        client,
        declare: config.declare,
        publish_timeout: config.publish_timeout,
        window: config.window,
    }
}

fn narad(name: &str, settings: &NaradConfig) -> Result<Narad, BrokerError> {
    let mut made = NaradSettings {
        urls: settings.urls.iter().map(|url| url.expose().as_str().to_owned()).collect(),
        tls: settings.tls.clone(),
        declare: settings.declare,
        envelopes: settings.envelopes.clone(),
        ..NaradSettings::new(name, "")
    };
    if !settings.header_prefixes.is_empty() {
        made.header_prefixes.clone_from(&settings.header_prefixes);
    }
    Narad::new(made)
}

fn journal(config: &JournalConfig, state: &Path) -> JournalSettings {
    let masks = config.masks.iter().map(|(pattern, with)| Mask {
        pattern: Regex::new(pattern).expect("a checked configuration has only patterns that can be read"),
        with: with.clone(),
    });
    JournalSettings {
        file: state.join(journal::FILE),
        host: config.host.clone(),
        max_age: config.max_age,
        max_size: config.max_size,
        keeping: Keeping { headers: config.headers.clone(), body: config.body, masks: masks.collect() },
    }
}

/// The host's store, where a route needs one.
fn store(config: &Config) -> anyhow::Result<Option<Store>> {
    let needed = config.routes.iter().any(|route| route.deduplicate.is_some());
    let open = || Store::new(config.host.state.join("host.db")).context("cannot start the store's thread");
    needed.then(open).transpose()
}

fn limits(policies: &PoliciesConfig) -> EngineLimits {
    let defaults = EngineLimits::default();
    let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
    EngineLimits {
        deadline: policies.deadline,
        memory: size(policies.memory),
        file_size: size(policies.file_size),
        threads: policies.threads.map_or(defaults.threads, std::num::NonZero::get),
        ..defaults
    }
}

fn hosted(
    config: &RouteConfig,
    brokers: &BTreeMap<String, Arc<dyn Broker>>,
    park: Option<&Path>,
    store: Option<&Store>,
) -> anyhow::Result<HostedRoute> {
    let broker = brokers.get(&config.broker).context("a checked configuration names only brokers that are there")?;
    let work = work(&config.handler).with_context(|| format!("route `{}`", config.name))?;
    let mut route = RouteSpec::new(&config.name, &config.source, Arc::clone(broker), work);
    route.group.clone_from(&config.group);
    route.concurrency = config.concurrency;
    route.prefetch = config.prefetch;
    route.ordering.clone_from(&config.ordering);
    route.deduplicate = config.deduplicate.as_ref().zip(store).map(|(deduplicate, store)| Deduplicate {
        by: deduplicate.by.clone(),
        window: deduplicate.window,
        store: store.clone(),
    });
    route.tiers.clone_from(&config.tiers);
    route.dead_letters.clone_from(&config.dead_letters);
    route.retry.clone_from(&config.retry);
    route.header_prefix.clone_from(&config.header_prefix);
    route.requeue = Doubling { initial: config.requeue.cooldown, max: config.requeue.max_cooldown };
    route.park = park.map(Path::to_owned);
    route.max_interruptions = config.max_interruptions.unwrap_or(route.max_interruptions);
    route.allow_drop_on_fault = config.allow_drop_on_fault;
    route.max_retry_delay = config.max_retry_delay.unwrap_or(route.max_retry_delay);
    Ok(HostedRoute {
        route,
        broker_name: config.broker.clone(),
        policy: config.policy.clone(),
        policy_digest: config.policy_digest.clone(),
        settings: config.settings.clone(),
        candidate: config.candidate.clone(),
    })
}

fn work(handler: &HandlerConfig) -> anyhow::Result<RouteWork> {
    let exposed = |secrets: &BTreeMap<String, crate::config::Secret>| {
        secrets.iter().map(|(name, value)| (name.clone(), value.expose().to_owned())).collect()
    };
    Ok(match handler {
        HandlerConfig::Http(http) => {
            let mut settings =
                HttpSettings { headers: exposed(&http.headers), ..HttpSettings::new(http.url.expose().as_str()) };
            if let Some(header) = &http.error_kind_header {
                settings.error_kind_header.clone_from(header);
            }
            RouteWork::Handle { handler: Arc::new(HttpHandler::new(settings)?), timeout: http.timeout }
        }
        HandlerConfig::Command(command) => {
            let settings = CommandSettings {
                program: command.program.clone(),
                env: exposed(&command.env),
                cwd: Some(command.directory.clone()),
            };
            RouteWork::Handle { handler: Arc::new(CommandHandler::new(settings)?), timeout: command.timeout }
        }
        HandlerConfig::Judge(judge) => RouteWork::Judge(JudgeSettings {
            error_kind_header: judge.error_kind_header.clone(),
            error_header: judge.error_header.clone(),
            error_detail_header: judge.error_detail_header.clone(),
            retry_after_header: judge.retry_after_header.clone(),
            origin_header: judge.origin_header.clone(),
            origin: judge.origin.clone(),
            judge_expired: judge.judge_expired,
        }),
    })
}
