//! Where a broker is, and how it may be named in messages: never with its user or password.

mod list;

use std::fmt;

use lapin::uri::{AMQPScheme, AMQPUri};
use reqwest::Url;

pub(super) use self::list::Addresses;
use super::transport::DialError;
use crate::broker::BrokerError;

/// AMQP's codes for a login that is wrong, and for a virtual host that is not there or not for this user.
const ACCESS_REFUSED: u16 = 403;
const NOT_ALLOWED: u16 = 530;

/// One parsed address of a configured broker.
#[derive(Clone)]
pub(super) struct Address {
    /// The broker's name in the configuration.
    pub(super) name: String,
    /// What the configuration calls it: `url`, or `urls` where there are several.
    key: &'static str,
    uri: AMQPUri,
}

impl Address {
    /// Reads `url`; the error names the broker and the cure, and repeats nothing of the URL.
    fn parse(name: &str, key: &'static str, url: &str) -> Result<Self, BrokerError> {
        let unfit = || {
            BrokerError::Unfit(format!(
                "`{key}` of broker '{name}' is not an AMQP URL: write it as amqp://user:password@host:5672/%2f (or \
                 amqps:// for TLS), with special characters percent-encoded"
            ))
        };
        let mut uri: AMQPUri = url.parse().map_err(|_| unfit())?;
        // The parser takes no host but a name, and falls back to this machine.
        let parsed = Url::parse(url).map_err(|_| unfit())?;
        if let Some(literal) = parsed.host_str().and_then(|host| host.strip_prefix('[')?.strip_suffix(']')) {
            uri.authority.host = literal.to_owned();
        }
        Ok(Self { name: name.to_owned(), key, uri })
    }

    pub(super) fn uri(&self) -> AMQPUri {
        self.uri.clone()
    }

    pub(super) fn host(&self) -> &str {
        &self.uri.authority.host
    }

    pub(super) const fn port(&self) -> u16 {
        self.uri.authority.port
    }

    pub(super) fn virtual_host(&self) -> &str {
        &self.uri.vhost
    }

    /// Whether it is to be spoken to over TLS.
    pub(super) fn is_secure(&self) -> bool {
        self.uri.scheme == AMQPScheme::AMQPS
    }

    /// The error for a broker that answered and does not let this client in. `code` is AMQP's.
    pub(super) fn turned_away(&self, code: u16, reason: &str) -> BrokerError {
        let cure = match code {
            ACCESS_REFUSED => "correct the user and password in",
            NOT_ALLOWED => "create the virtual host and give the user rights there, or correct",
            _ => "see the broker's own log, or correct",
        };
        self.out_of_reach(reason.trim_end_matches('.'), cure)
    }

    /// The error for something that answered in another language.
    pub(super) fn not_a_broker(&self) -> BrokerError {
        self.out_of_reach("what answers there does not speak AMQP 0-9-1", "correct")
    }

    /// The error for an address that gave no stream.
    pub(super) fn undialled(&self, error: &DialError) -> BrokerError {
        self.out_of_reach(&error.what, error.cure)
    }

    fn out_of_reach(&self, reason: impl fmt::Display, cure: &str) -> BrokerError {
        let reason = format!("{reason}; {cure} `{}` of [brokers.{}]", self.key, self.name);
        BrokerError::Unreachable { broker: self.to_string(), reason }
    }

    /// The error for a broker that cannot be talked to.
    pub(super) fn unreachable(&self, reason: impl fmt::Display) -> BrokerError {
        self.out_of_reach(reason, "start it, or correct")
    }
}

/// `broker 'main' at 127.0.0.1:5672, virtual host '/'`.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "broker '{}' at ", self.name)?;
        match self.host() {
            literal if literal.contains(':') => write!(f, "[{literal}]")?,
            name => f.write_str(name)?,
        }
        let encrypted = if self.is_secure() { " (TLS)" } else { "" };
        write!(f, ":{}{encrypted}, virtual host '{}'", self.port(), self.virtual_host())
    }
}

#[cfg(test)]
mod tests;
