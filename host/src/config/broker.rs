//! The `[brokers.NAME]` sections.

use std::collections::BTreeMap;

use toml::Spanned;

use super::address::read_url;
use super::name::check_name;
use super::section::Section;
use super::suggestion::suggest;
use super::{Secret, SecretUrl};

/// A broker that routes can name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BrokerConfig {
    /// `kind = "memory"`: queues in this process, gone when it ends.
    Memory(MemoryConfig),
    /// `kind = "rabbitmq"`.
    RabbitMq(RabbitMqConfig),
}

/// A broker in this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryConfig {
    /// The messages that one queue holds at most. More than zero.
    pub capacity: usize,
}

/// A connection to RabbitMQ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RabbitMqConfig {
    /// `amqp://user:password@host:port/vhost`, with the password where that was written apart.
    pub url: SecretUrl,
    /// Create missing queues and exchanges; otherwise they are only checked.
    pub declare: bool,
}

impl BrokerConfig {
    /// The configuration's `kind`.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Memory(_) => "memory",
            Self::RabbitMq(_) => "rabbitmq",
        }
    }

    fn read(section: Section<'_>) -> Option<Self> {
        let kind = section.required_text("kind", "add kind = \"rabbitmq\" or kind = \"memory\"")?;
        let broker = match *kind.get_ref() {
            "memory" => Some(Self::Memory(MemoryConfig::read(&section))),
            "rabbitmq" => RabbitMqConfig::read(&section).map(Self::RabbitMq),
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

impl RabbitMqConfig {
    fn read(section: &Section<'_>) -> Option<Self> {
        const CURE: &str = "add url = \"amqp://host:5672/%2f\"; %2f is the virtual host /";
        let declare = section.boolean("declare").unwrap_or(true);
        let text = section.required_secret("url", CURE)?;
        let url = read_url(section, &text, "amqp")?;
        let url = match section.secret("password") {
            Some(password) => with_password(section, url, &password)?,
            None => url,
        };
        let problems = section.problems;
        if url.expose().host_str().is_some_and(|host| host.starts_with('[')) {
            problems.error(
                &text.span(),
                "the AMQP client does not take an IPv6 address in a URL",
                "write a host name that stands for it",
            );
            return None;
        }
        if url.expose().path() == "/" {
            problems.warning(
                &text.span(),
                "this URL names the virtual host \"\", which hardly any RabbitMQ has",
                "leave the last / out, or write /%2f, for the virtual host /",
            );
        }
        Some(Self { url, declare })
    }
}

/// The address with a password that is written apart, where it need not be percent-encoded.
fn with_password(section: &Section<'_>, url: SecretUrl, password: &Spanned<Secret>) -> Option<SecretUrl> {
    let mut url = url.expose().clone();
    let (message, cure) = if url.password().is_some() {
        ("there is a password in `url` already", "leave one out")
    } else if url.username().is_empty() {
        ("there is no user in `url` whose password this is", "write the user into it, as amqp://user@host:5672/%2f")
    } else if url.set_password(Some(password.get_ref().expose())).is_err() {
        ("`url` cannot take a password", "write it as amqp://user@host:5672/%2f")
    } else {
        return Some(SecretUrl::new(url));
    };
    section.problems.error(&password.span(), message, cure);
    None
}

fn report_kind(section: &Section<'_>, kind: &Spanned<&str>, other: &str) {
    let known = ["rabbitmq", "memory"];
    let (message, cure) = match other {
        "kafka" | "narad" => (format!("the broker kind \"{other}\" is not in this build yet"), suggest("", &known)),
        _ => (format!("there is no broker kind \"{other}\""), suggest(other, &known)),
    };
    section.problems.error(&kind.span(), message, cure);
}

/// The brokers that are right, by name, and the names of all.
pub(super) fn read_brokers<'d>(section: Option<Section<'d>>) -> (BTreeMap<String, BrokerConfig>, Vec<&'d str>) {
    let (mut brokers, mut names) = (BTreeMap::new(), Vec::new());
    let Some(section) = section else { return (brokers, names) };
    for (key, value) in section.entries() {
        let name = *key.get_ref();
        names.push(name);
        check_name(section.problems, "a broker's name", &key);
        let broker = section.section_of(name, format!("[brokers.{name}]"), value).and_then(BrokerConfig::read);
        if let Some(broker) = broker {
            brokers.insert(name.to_owned(), broker);
        }
    }
    (brokers, names)
}
