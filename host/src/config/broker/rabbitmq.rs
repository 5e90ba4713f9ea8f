//! A broker of kind `rabbitmq`.

use std::path::Path;
use std::time::Duration;

use toml::Spanned;

use crate::broker::rabbitmq::TlsSettings;
use crate::config::address::read_url;
use crate::config::section::Section;
use crate::config::{Secret, SecretUrl};

/// RabbitMQ's own, where nobody changed it.
const CONSUMER_TIMEOUT: Duration = Duration::from_secs(30 * 60);

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
        let urls = read_urls(section)?;
        if let Some((span, _)) = &tls
            && !urls.iter().any(|url| url.expose().scheme() == "amqps")
        {
            section.problems.error(
                span,
                "`tls` is set, and no address of this broker is spoken to over TLS",
                "write amqps:// and the port of the broker's TLS listener (usually 5671), or leave `tls` out",
            );
        }
        let tls = tls.map(|(_, tls)| tls).unwrap_or_default();
        Some(Self { urls, tls, declare, management, consumer_timeout })
    }
}

fn read_urls(section: &Section<'_>) -> Option<Vec<SecretUrl>> {
    const CURE: &str = "add url = \"amqp://host:5672/%2f\"; %2f is the virtual host /";
    let password = section.secret("password");
    let read = |text: &Spanned<Secret>| {
        let url = read_amqp_url(section, text)?;
        match &password {
            Some(password) => with_password(section, url, password),
            None => Some(url),
        }
    };
    let Some(several) = section.value("urls") else {
        return Some(vec![read(&section.required_secret("url", CURE)?)?]);
    };
    if section.value("url").is_some() {
        let message = format!("{} has both `url` and `urls`", section.title);
        section.problems.error(&several.span(), message, "write all addresses into `urls`, and leave `url` out");
    }
    let items = section.items("urls", "[\"amqp://one\", \"amqp://two\"]")?;
    if items.is_empty() {
        section.problems.error(&several.span(), "`urls` is empty", CURE);
        return None;
    }
    // All of them are looked at, so that each that is wrong is reported.
    let urls: Vec<_> = items.iter().map(|item| read(&section.secret_of("urls", item)?)).collect();
    urls.into_iter().collect()
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

/// The address with a password that is written apart, where it need not be percent-encoded.
fn with_password(section: &Section<'_>, url: SecretUrl, password: &Spanned<Secret>) -> Option<SecretUrl> {
    let mut url = url.expose().clone();
    let (message, cure) = if url.password().is_some() {
        ("there is a password in the address already", "leave one out")
    } else if url.username().is_empty() {
        (
            "there is no user in the address whose password this is",
            "write the user into it, as amqp://user@host:5672/%2f",
        )
    } else if url.set_password(Some(password.get_ref().expose())).is_err() {
        ("the address cannot take a password", "write it as amqp://user@host:5672/%2f")
    } else {
        return Some(SecretUrl::new(url));
    };
    section.problems.error(&password.span(), message, cure);
    None
}

fn read_tls(section: &Section<'_>, folder: &Path) -> Option<(std::ops::Range<usize>, TlsSettings)> {
    let tls = section.section("tls", "the broker's `tls`")?;
    let file = |key| tls.text(key).map(|text| folder.join(text.get_ref()));
    let (ca, certificate, key) = (file("ca"), file("certificate"), file("key"));
    if certificate.is_some() != key.is_some() {
        tls.problems.error(
            &tls.span,
            "a client certificate needs both `certificate` and `key`",
            "write both, or leave both out where the broker wants no client certificate",
        );
    }
    let span = tls.span.clone();
    tls.finish();
    Some((span, TlsSettings { ca, identity: certificate.zip(key) }))
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
