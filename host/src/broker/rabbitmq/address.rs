//! Where a broker is, and how it may be named in messages: never with its user or password.

use std::fmt;
use std::time::Duration;

use lapin::uri::{AMQPScheme, AMQPUri};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::broker::BrokerError;

/// The protocol header of AMQP 0-9-1, which a client sends first.
const PROTOCOL_HEADER: &[u8; 8] = b"AMQP\0\0\x09\x01";

/// AMQP's codes for a login that is wrong, and for a virtual host that is not there or not for this user.
const ACCESS_REFUSED: u16 = 403;
const NOT_ALLOWED: u16 = 530;

/// A parsed `url` of a configured broker.
#[derive(Clone)]
pub(super) struct Address {
    /// The broker's name in the configuration.
    pub(super) name: String,
    uri: AMQPUri,
}

impl Address {
    /// Reads `url`; the error names the broker and the cure, and repeats nothing of the URL.
    pub(super) fn parse(name: &str, url: &str) -> Result<Self, BrokerError> {
        let unfit = |what: &str| {
            BrokerError::Unfit(format!(
                "`url` of broker '{name}' {what}: write it as amqp://user:password@host:5672/%2f, with special \
                 characters percent-encoded"
            ))
        };
        // The parser falls back to `localhost` for these, which would be the wrong broker.
        let authority = url.split_once("://").map_or(url, |(_, rest)| rest);
        let host = authority.split(['/', '?']).next().unwrap_or_default();
        if host.rsplit('@').next().is_some_and(|host| host.starts_with('[')) {
            return Err(unfit("names its host by an IPv6 literal, which is not supported; use a host name"));
        }
        let uri: AMQPUri = url.parse().map_err(|_| unfit("is not an AMQP URL"))?;
        if uri.scheme == AMQPScheme::AMQPS {
            return Err(BrokerError::Unfit(format!(
                "`url` of broker '{name}' asks for TLS (amqps), which is not supported yet: use amqp:// over a network \
                 that you trust, or through a local TLS tunnel"
            )));
        }
        Ok(Self { name: name.to_owned(), uri })
    }

    pub(super) fn uri(&self) -> AMQPUri {
        self.uri.clone()
    }

    /// Whether something at this address answers an AMQP client at all.
    pub(super) async fn answers(&self, within: Duration) -> Result<(), String> {
        let exchange = async {
            let mut stream = TcpStream::connect((self.uri.authority.host.as_str(), self.uri.authority.port)).await?;
            stream.write_all(PROTOCOL_HEADER).await?;
            stream.read_u8().await
        };
        match tokio::time::timeout(within, exchange).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err(format!("no answer within {within:?}")),
        }
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

    fn out_of_reach(&self, reason: impl fmt::Display, cure: &str) -> BrokerError {
        let reason = format!("{reason}; {cure} `url` of [brokers.{}]", self.name);
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
        let authority = &self.uri.authority;
        write!(f, "broker '{}' at {}:{}, virtual host '{}'", self.name, authority.host, authority.port, self.uri.vhost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(url: &str) -> String {
        Address::parse("main", url).err().expect("must be refused").to_string()
    }

    #[test]
    fn an_address_is_shown_without_its_secrets() {
        let address = Address::parse("main", "amqp://alice:s3cret@mq.example:5673/orders").unwrap();
        assert_eq!(address.to_string(), "broker 'main' at mq.example:5673, virtual host 'orders'");
        assert!(!address.unreachable("refused").to_string().contains("s3cret"));
    }

    #[test]
    fn the_cure_is_that_of_what_is_wrong() {
        let address = Address::parse("main", "amqp://alice:s3cret@mq.example:5673/orders").unwrap();
        for (code, cure) in [(403, "user and password"), (530, "virtual host and"), (541, "broker's own log")] {
            let text = address.turned_away(code, "NO - see there.").to_string();
            assert!(text.contains(": NO - see there; ") && text.contains(cure), "{text}");
            assert!(text.ends_with("`url` of [brokers.main]") && !text.contains("s3cret"), "{text}");
        }
    }

    #[test]
    fn no_refusal_repeats_the_url() {
        for url in ["alice:s3cret", "http://alice:s3cret@mq/", "amqps://alice:s3cret@mq/", "amqp://alice:s3cret@[::1]/"]
        {
            let text = message(url);
            assert!(!text.contains("s3cret") && text.contains("'main'"), "{text}");
        }
    }

    #[test]
    fn tls_and_ipv6_literals_are_refused_rather_than_misread() {
        assert!(message("amqps://mq/").contains("TLS"));
        assert!(message("amqp://[::1]:5672/").contains("IPv6"));
    }
}
