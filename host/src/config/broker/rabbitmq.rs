//! A broker of kind `rabbitmq`.

use std::path::Path;
use std::time::Duration;

use toml::Spanned;

use super::addresses::{Addresses, read_tls, tls_in_use};
use crate::broker::TlsSettings;
use crate::config::address::read_url;
use crate::config::section::Section;
use crate::config::{Secret, SecretUrl};

/// RabbitMQ's own, where nobody changed it.
const CONSUMER_TIMEOUT: Duration = Duration::from_secs(30 * 60);

const ADDRESSES: Addresses = Addresses {
    missing: "add url = \"amqp://host:5672/%2f\"; %2f is the virtual host /",
    several: "[\"amqp://one\", \"amqp://two\"]",
    with_user: "amqp://user@host:5672/%2f",
};

/// A connection to RabbitMQ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RabbitMqConfig {
    /// `amqp://user:password@host:port/vhost`, or `amqps://`, with the password where that was written apart. At least one;
    /// several are tried in turn.
    pub urls: Vec<SecretUrl>,
    /// For `amqps` addresses. Paths are resolved.
    pub tls: TlsSettings,
    /// Create missing queues and exchanges; otherwise they are only checked.
    pub declare: bool,
    /// The HTTP API of the management plugin, `http://user:password@host:15672`, for what AMQP does not show.
    pub management: Option<SecretUrl>,
    /// After how long the broker takes an unsettled delivery back. At least a minute.
    pub consumer_timeout: Duration,
}

impl RabbitMqConfig {
    pub(super) fn read(section: &Section<'_>, folder: &Path) -> Option<Self> {
        let declare = section.boolean("declare").unwrap_or(true);
        let tls = read_tls(section, folder);
        let management = section.secret("management").and_then(|text| read_url(section, &text, "http"));
        let consumer_timeout = read_consumer_timeout(section);
        let urls = ADDRESSES.read(section, |text| read_amqp_url(section, text))?;
        let cure = "write amqps:// and the port of the broker's TLS listener (usually 5671), or leave `tls` out";
        let tls = tls_in_use(section, tls, urls.iter().any(|url| url.expose().scheme() == "amqps"), cure);
        Some(Self { urls, tls, declare, management, consumer_timeout })
    }
}

fn read_amqp_url(section: &Section<'_>, text: &Spanned<Secret>) -> Option<SecretUrl> {
    let scheme = if text.get_ref().expose().starts_with("amqps:") { "amqps" } else { "amqp" };
    let url = read_url(section, text, scheme)?;
    if url.expose().path() == "/" {
        section.problems.warning(
            &text.span(),
            "this URL names the virtual host \"\", which hardly any RabbitMQ has",
            "leave the last / out, or write /%2f, for the virtual host /",
        );
    }
    Some(url)
}

fn read_consumer_timeout(section: &Section<'_>) -> Duration {
    const SHORTEST: Duration = Duration::from_secs(60);
    let Some(timeout) = section.duration("consumer_timeout") else { return CONSUMER_TIMEOUT };
    if *timeout.get_ref() < SHORTEST {
        section.problems.error(
            &timeout.span(),
            "`consumer_timeout` is too short",
            "write the broker's own consumer_timeout, at least \"1m\"; the broker looks once a minute",
        );
    }
    timeout.into_inner()
}
