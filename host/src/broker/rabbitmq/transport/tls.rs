//! TLS: what to trust, who we are, and what a failed handshake means.

mod trouble;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

pub(super) use self::trouble::trouble;
use super::DialError;

/// The `tls` of a broker. Files are in PEM, and read again for every connection, so they can be renewed in place.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TlsSettings {
    /// The certificates that the broker's own must be signed by; none for those that the system trusts.
    pub ca: Option<PathBuf>,
    /// What the broker knows us by: our certificate, with those between it and its CA behind it, and its private key.
    pub identity: Option<(PathBuf, PathBuf)>,
}

/// The TLS side of connections.
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
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| DialError::new(error, "this is a defect of the program, not of"))?
            .with_root_certificates(self.roots()?);
        let Some((certificate, key)) = &self.settings.identity else {
            return Ok(Arc::new(builder.with_no_client_auth()));
        };
        let chain = certificates("certificate", certificate)?;
        let private = PrivateKeyDer::from_pem_file(key)
            .map_err(|error| unreadable("key", key, &format!("holds no private key in PEM ({error})")))?;
        let config = builder.with_client_auth_cert(chain, private).map_err(|error| {
            unreadable("certificate", certificate, &format!("does not fit the key in {} ({error})", key.display()))
        })?;
        Ok(Arc::new(config))
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

    fn roots(&self) -> Result<RootCertStore, DialError> {
        let mut roots = RootCertStore::empty();
        if let Some(ca) = &self.settings.ca {
            for certificate in certificates("ca", ca)? {
                roots.add(certificate).map_err(|error| {
                    unreadable("ca", ca, &format!("holds something that cannot be trusted ({error})"))
                })?;
            }
            return Ok(roots);
        }
        let found = rustls_native_certs::load_native_certs();
        let (usable, _) = roots.add_parsable_certificates(found.certs);
        if usable == 0 {
            return Err(DialError::new(
                "this system trusts no certificates (no CA bundle is installed)",
                "install one (ca-certificates), or name your CA's file as `ca` in the `tls` beside",
            ));
        }
        Ok(roots)
    }
}

fn certificates(key: &str, file: &Path) -> Result<Vec<CertificateDer<'static>>, DialError> {
    let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match read {
        Ok(certificates) if certificates.is_empty() => Err(unreadable(key, file, "holds no certificate in PEM")),
        Ok(certificates) => Ok(certificates),
        Err(error) => Err(unreadable(key, file, &format!("cannot be read ({error})"))),
    }
}

/// `key` is what the configuration calls the file.
fn unreadable(key: &str, file: &Path, why: &str) -> DialError {
    DialError::new(
        format!("the file {} {why}", file.display()),
        match key {
            "ca" => "correct `ca` in the `tls` beside",
            "key" => "correct `key` in the `tls` beside",
            _ => "correct `certificate` in the `tls` beside",
        },
    )
}
