//! What TLS to a broker goes by: whom to trust, and who we are.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// The `tls` of a broker. Files are in PEM.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TlsSettings {
    /// The certificates that the broker's own must be signed by; none for those that the system trusts.
    pub ca: Option<PathBuf>,
    /// What the broker knows us by: our certificate, with those between it and its CA behind it, and its private key.
    pub identity: Option<(PathBuf, PathBuf)>,
}

/// Why TLS cannot be set up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TlsError {
    /// What is wrong.
    pub(super) what: String,
    /// What to do; the setting that holds the address comes behind it.
    pub(super) cure: &'static str,
}

impl TlsError {
    fn new(what: impl fmt::Display, cure: &'static str) -> Self {
        Self { what: what.to_string(), cure }
    }
}

impl TlsSettings {
    /// Reads the files.
    pub(super) fn load(&self) -> Result<ClientConfig, TlsError> {
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| TlsError::new(error, "this is a defect of the program, not of"))?
            .with_root_certificates(self.roots()?);
        let Some((certificate, key)) = &self.identity else {
            return Ok(builder.with_no_client_auth());
        };
        let chain = certificates("certificate", certificate)?;
        let private = PrivateKeyDer::from_pem_file(key)
            .map_err(|error| unreadable("key", key, &format!("holds no private key in PEM ({error})")))?;
        builder.with_client_auth_cert(chain, private).map_err(|error| {
            unreadable("certificate", certificate, &format!("does not fit the key in {} ({error})", key.display()))
        })
    }

    fn roots(&self) -> Result<RootCertStore, TlsError> {
        let mut roots = RootCertStore::empty();
        if let Some(ca) = &self.ca {
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
            return Err(TlsError::new(
                "this system trusts no certificates (no CA bundle is installed)",
                "install one (ca-certificates), or name your CA's file as `ca` in the `tls` beside",
            ));
        }
        Ok(roots)
    }
}

fn certificates(key: &str, file: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match read {
        Ok(certificates) if certificates.is_empty() => Err(unreadable(key, file, "holds no certificate in PEM")),
        Ok(certificates) => Ok(certificates),
        Err(error) => Err(unreadable(key, file, &format!("cannot be read ({error})"))),
    }
}

/// `key` is what the configuration calls the file.
fn unreadable(key: &str, file: &Path, why: &str) -> TlsError {
    TlsError::new(
        format!("the file {} {why}", file.display()),
        match key {
            "ca" => "correct `ca` in the `tls` beside",
            "key" => "correct `key` in the `tls` beside",
            _ => "correct `certificate` in the `tls` beside",
        },
    )
}
