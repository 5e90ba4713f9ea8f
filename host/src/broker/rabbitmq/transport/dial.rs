//! From an address to a stream.

use std::fmt;
use std::io;

use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use super::{Stream, Tls, tls};

/// Why there is no stream, or why it ended before anything was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::broker::rabbitmq) struct DialError {
    /// What happened.
    pub(in crate::broker::rabbitmq) what: String,
    /// What to do; the setting that holds the address comes behind it.
    pub(in crate::broker::rabbitmq) cure: &'static str,
}

impl DialError {
    pub(super) fn new(what: impl fmt::Display, cure: &'static str) -> Self {
        Self { what: what.to_string(), cure }
    }

    /// What an error of a stream means that stood already and over which nobody was let in, where TLS has to do with it.
    pub(in crate::broker::rabbitmq) fn of_stream(error: &io::Error, secure: bool) -> Option<Self> {
        if error.get_ref().is_some_and(|inner| inner.is::<SpeaksTls>()) {
            return Some(Self::new("what answers there speaks TLS", "write amqps:// in"));
        }
        // A client learns only after its own side of the handshake that its certificate will not do, and as it speaks on,
        // the reason may be lost on the way.
        tls::trouble(error).or_else(|| {
            secure.then(|| {
                Self::new(
                    format!(
                        "the broker ended the connection behind the TLS handshake ({error}): as a rule, it wants a client \
                         certificate, or does not accept our certificate"
                    ),
                    "see the broker's own log, correct `certificate` and `key` in the `tls` beside, or correct",
                )
            })
        })
    }
}

/// The peer of a plain connection answered in TLS.
#[derive(Debug, thiserror::Error)]
#[error("the peer speaks TLS")]
pub(super) struct SpeaksTls;

/// Connects to the first of the host's network addresses that takes it, and shakes TLS hands where `tls` is given. The
/// stream ends when `given_up` is cancelled.
pub(in crate::broker::rabbitmq) async fn dial(
    host: &str,
    port: u16,
    tls: Option<&Tls>,
    given_up: CancellationToken,
) -> Result<Stream, DialError> {
    let unreachable = |error: io::Error| DialError::new(error, "start it, or correct");
    let stream = TcpStream::connect((host, port)).await.map_err(unreachable)?;
    stream.set_nodelay(true).map_err(unreachable)?;
    Ok(match tls {
        Some(tls) => Stream::over_tls(tls.wrap(stream, host).await?, given_up),
        None => Stream::plain(stream, given_up),
    })
}
