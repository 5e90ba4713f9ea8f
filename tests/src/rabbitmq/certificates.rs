//! Certificates that are made for a test and trusted by nobody else.

use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};

/// A certificate and its private key, in PEM.
pub struct Identity {
    /// The certificate.
    pub certificate: String,
    /// The private key.
    pub key: String,
}

impl Identity {
    /// Writes both into a folder, as `NAME.pem` and `NAME.key`.
    ///
    /// # Panics
    /// Where the folder cannot be written.
    pub fn write(&self, folder: &Path, name: &str) -> (PathBuf, PathBuf) {
        let (certificate, key) = (folder.join(format!("{name}.pem")), folder.join(format!("{name}.key")));
        std::fs::write(&certificate, &self.certificate).expect("a folder that can be written");
        std::fs::write(&key, &self.key).expect("a folder that can be written");
        (certificate, key)
    }
}

/// Somebody who signs certificates.
pub struct Authority {
    /// Its own certificate, in PEM.
    pub certificate: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    /// A new one, which nobody trusts yet.
    ///
    /// # Panics
    /// Where the system gives no randomness.
    #[must_use]
    pub fn new() -> Self {
        let mut parameters = CertificateParams::default();
        parameters.distinguished_name.push(DnType::CommonName, "an authority of the tests");
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let certificate = parameters.self_signed(&key).expect("a certificate").pem();
        Self { certificate, issuer: Issuer::new(parameters, key) }
    }

    /// A certificate for these names and addresses.
    #[must_use]
    pub fn sign(&self, names: &[&str]) -> Identity {
        self.signed(names, |_| {})
    }

    /// A certificate whose time is long over.
    #[must_use]
    pub fn sign_expired(&self, names: &[&str]) -> Identity {
        self.signed(names, |parameters| {
            parameters.not_before = date_time_ymd(2001, 1, 1);
            parameters.not_after = date_time_ymd(2002, 1, 1);
        })
    }

    fn signed(&self, names: &[&str], change: impl FnOnce(&mut CertificateParams)) -> Identity {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut parameters = CertificateParams::new(names.clone()).expect("names for a certificate");
        // Not that of the authority: a certificate whose subject is its issuer counts as signed by itself.
        parameters.distinguished_name.push(DnType::CommonName, names[0].as_str());
        change(&mut parameters);
        let key = KeyPair::generate().expect("a key");
        let certificate = parameters.signed_by(&key, &self.issuer).expect("a certificate");
        Identity { certificate: certificate.pem(), key: key.serialize_pem() }
    }
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}
