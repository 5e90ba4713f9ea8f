//! What every HTTP client in the host begins with.

use std::sync::Arc;

use reqwest::{Client, ClientBuilder};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// A client's settings, which trust nobody over TLS. Left to itself, the library would look for a provider of cryptography that the
/// process has agreed on, and panic where there is none.
pub(crate) fn builder() -> ClientBuilder {
    let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("the provider knows the protocol's versions that it is built with")
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    Client::builder().tls_backend_preconfigured(tls)
}
