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

    /// What an error of a stream means that stood already, where TLS has to do with it.
    pub(in crate::broker::rabbitmq) fn of_stream(error: &io::Error) -> Option<Self> {
        if error.get_ref().is_some_and(|inner| inner.is::<SpeaksTls>()) {
            return Some(Self::new("what answers there speaks TLS", "write amqps:// in"));
        }
        tls::trouble(error)
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
