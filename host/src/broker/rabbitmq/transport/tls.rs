//! TLS over a connection that stands, and what a failed handshake means.

mod trouble;

use std::sync::Arc;

use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::pki_types::ServerName;

pub(super) use self::trouble::trouble;
use super::DialError;
use crate::broker::tls::TlsSettings;

/// The TLS side of connections. Files are read again for every connection, so they can be renewed in place.
#[derive(Debug, Clone)]
pub(in crate::broker::rabbitmq) struct Tls {
    settings: TlsSettings,
}

impl Tls {
    pub(in crate::broker::rabbitmq) const fn new(settings: TlsSettings) -> Self {
        Self { settings }
    }

    /// Reads the files. Also done at start, so that a wrong path is known before a message is.
    pub(in crate::broker::rabbitmq) fn load(&self) -> Result<Arc<ClientConfig>, DialError> {
        self.settings.load().map(Arc::new).map_err(|error| DialError::new(error.what, error.cure))
    }

    /// Shakes hands over a connection that stands. `host` is the name or address that the certificate must be for.
    pub(super) async fn wrap(&self, stream: TcpStream, host: &str) -> Result<TlsStream<TcpStream>, DialError> {
        let tls = self.clone();
        let config = tokio::task::spawn_blocking(move || tls.load())
            .await
            .map_err(|error| DialError::new(error, "see the log, and correct"))??;
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| DialError::new("no certificate can be for this host's name", "correct"))?;
        TlsConnector::from(config).connect(name, stream).await.map_err(|error| {
            trouble(&error).unwrap_or_else(|| {
                DialError::new(
                    format!("no TLS with what answers there: {error}"),
                    "see the broker's own log, or correct",
                )
            })
        })
    }
}
