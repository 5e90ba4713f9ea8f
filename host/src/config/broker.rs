//! The `[brokers.NAME]` sections.

mod addresses;
mod kafka;
mod narad;
mod rabbitmq;

use std::collections::BTreeMap;
use std::path::Path;

use toml::Spanned;

pub use self::kafka::KafkaConfig;
pub use self::narad::{EnvelopeConfig, NaradConfig};
pub use self::rabbitmq::RabbitMqConfig;
use super::name::check_name;
use super::section::Section;
use super::suggestion::suggest;

/// A broker that routes can name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BrokerConfig {
    /// `kind = "memory"`: queues in this process, gone when it ends.
    Memory(MemoryConfig),
    /// `kind = "rabbitmq"`.
    RabbitMq(RabbitMqConfig),
    /// `kind = "kafka"`.
    Kafka(KafkaConfig),
    /// `kind = "narad"`.
    Narad(NaradConfig),
}

/// A broker in this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryConfig {
    /// The messages that one queue holds at most. More than zero.
    pub capacity: usize,
}

impl BrokerConfig {
    /// The configuration's `kind`.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Memory(_) => "memory",
            Self::RabbitMq(_) => "rabbitmq",
            Self::Kafka(_) => "kafka",
            Self::Narad(_) => "narad",
        }
    }

    /// The same broker, on which nothing that is missing is made.
    #[must_use]
    pub fn without_declaring(mut self) -> Self {
        match &mut self {
            Self::Memory(_) => {}
            Self::RabbitMq(rabbitmq) => rabbitmq.declare = false,
            Self::Kafka(kafka) => kafka.declare = false,
            Self::Narad(narad) => narad.declare = false,
        }
        self
    }

    fn read(section: Section<'_>, folder: &Path) -> Option<Self> {
        let kind = section.required_text(
            "kind",
            "add kind = \"rabbitmq\", kind = \"kafka\", kind = \"narad\" or kind = \"memory\"",
        )?;
        let broker = match *kind.get_ref() {
            "memory" => Some(Self::Memory(MemoryConfig::read(&section))),
            "rabbitmq" => RabbitMqConfig::read(&section, folder).map(Self::RabbitMq),
            "kafka" => KafkaConfig::read(&section).map(Self::Kafka),
            "narad" => NaradConfig::read(&section, folder).map(Self::Narad),
            other => {
                report_kind(&section, &kind, other);
                // Its other keys depend on the kind, so there is nothing to check them against.
                return None;
            }
        };
        section.finish();
        broker
    }
}

impl MemoryConfig {
    fn read(section: &Section<'_>) -> Self {
        let capacity =
            section.integer("capacity", 1..=1_000_000_000).and_then(|capacity| usize::try_from(capacity).ok());
        Self { capacity: capacity.unwrap_or(10_000) }
    }
}

fn report_kind(section: &Section<'_>, kind: &Spanned<&str>, other: &str) {
    let known = ["rabbitmq", "kafka", "narad", "memory"];
    section.problems.error(&kind.span(), format!("there is no broker kind \"{other}\""), suggest(other, &known));
}

/// The brokers that are right, by name, and the names of all.
pub(super) fn read_brokers<'d>(
    section: Option<Section<'d>>,
    folder: &Path,
) -> (BTreeMap<String, BrokerConfig>, Vec<&'d str>) {
    let (mut brokers, mut names) = (BTreeMap::new(), Vec::new());
    let Some(section) = section else { return (brokers, names) };
    for (key, value) in section.entries() {
        let name = *key.get_ref();
        names.push(name);
        check_name(section.problems, "a broker's name", &key);
        let broker = section.section_of(name, format!("[brokers.{name}]"), value);
        let broker = broker.and_then(|section| BrokerConfig::read(section, folder));
        if let Some(broker) = broker {
            brokers.insert(name.to_owned(), broker);
        }
    }
    (brokers, names)
}
