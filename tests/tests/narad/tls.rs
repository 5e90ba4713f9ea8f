//! TLS that ends in front of Narad.

use std::path::PathBuf;
use std::sync::Arc;

use reprieve::broker::narad::{Narad, NaradSettings};
use reprieve::broker::{Broker as _, BrokerError, TlsSettings};
use reprieve::message::Message;
use reprieve_tests::narad::Cluster;
use reprieve_tests::rabbitmq::certificates::{Authority, Identity};
use tempfile::TempDir;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::{ack, next, plan, topic};

/// Ends TLS with this certificate, and sends on what comes. Gives its port.
async fn front(cluster: &Cluster, identity: &Identity) -> u16 {
    let chain = vec![CertificateDer::from_pem_slice(identity.certificate.as_bytes()).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let behind = cluster.url().replace("http://", "");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, behind) = (acceptor.clone(), behind.clone());
            tokio::spawn(async move {
                // A client that does not like the certificate is what some tests want.
                let Ok(mut stream) = acceptor.accept(stream).await else { return };
                let mut node = TcpStream::connect(behind).await.unwrap();
                drop(tokio::io::copy_bidirectional(&mut stream, &mut node).await);
            });
        }
    });
    port
}

fn ca(folder: &TempDir, authority: &Authority) -> PathBuf {
    let path = folder.path().join("ca.pem");
    std::fs::write(&path, &authority.certificate).unwrap();
    path
}

fn driver(port: u16, ca: Option<PathBuf>) -> Result<Narad, BrokerError> {
    let tls = TlsSettings { ca, identity: None };
    Narad::new(NaradSettings { tls, ..NaradSettings::new("main", format!("https://127.0.0.1:{port}")) })
}

#[tokio::test]
async fn a_node_behind_tls_is_spoken_to_where_its_certificate_is_trusted() {
    let (cluster, authority, folder) = (Cluster::one().await, Authority::new(), tempfile::tempdir().unwrap());
    cluster.create("orders");
    let port = front(&cluster, &authority.sign(&["127.0.0.1"])).await;
    let driver = driver(port, Some(ca(&folder, &authority))).unwrap();
    driver.prepare(&plan()).await.unwrap();
    driver.publish(&topic("orders"), &Message::new("m")).await.unwrap();
    let mut consumer = driver.consume(&plan(), 1).await.unwrap();
    ack(&next(&mut *consumer).await).await;
}

#[tokio::test]
async fn a_certificate_of_somebody_else_or_for_another_host_is_not_trusted() {
    let (cluster, authority, folder) = (Cluster::one().await, Authority::new(), tempfile::tempdir().unwrap());
    cluster.create("orders");
    let ours = ca(&folder, &authority);
    for identity in
        [Authority::new().sign(&["127.0.0.1"]), authority.sign(&["elsewhere"]), authority.sign_expired(&["127.0.0.1"])]
    {
        let port = front(&cluster, &identity).await;
        let error = driver(port, Some(ours.clone())).unwrap().prepare(&plan()).await.unwrap_err();
        assert!(matches!(error, BrokerError::Unreachable { .. }), "{error}");
        assert!(error.to_string().contains("certificate"), "{error}");
    }
}

#[tokio::test]
async fn a_file_that_is_missing_is_known_at_once() {
    let error = driver(1, Some(PathBuf::from("/nowhere/ca.pem"))).err().expect("must be refused").to_string();
    assert!(error.contains("/nowhere/ca.pem") && error.contains("correct `ca`"), "{error}");
}
