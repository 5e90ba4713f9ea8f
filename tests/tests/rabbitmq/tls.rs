//! TLS to a real broker, and what is said when it does not come about.

use std::path::PathBuf;
use std::sync::Arc;

use reprieve::broker::rabbitmq::{RabbitMq, RabbitMqSettings, TlsSettings};
use reprieve::broker::{Broker, BrokerError, Plan};
use reprieve::message::Message;
use reprieve_tests::rabbitmq::Node;
use reprieve_tests::rabbitmq::certificates::{Authority, Identity};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::{plan, queue};

/// What a client has on disk.
struct Wallet(TempDir);

impl Wallet {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn ca(&self, authority: &Authority) -> Option<PathBuf> {
        let path = self.0.path().join("ca.pem");
        std::fs::write(&path, &authority.certificate).unwrap();
        Some(path)
    }

    fn identity(&self, authority: &Authority) -> Option<(PathBuf, PathBuf)> {
        Some(authority.sign(&["client"]).write(self.0.path(), "client"))
    }
}

fn broker(url: String, tls: TlsSettings) -> RabbitMq {
    RabbitMq::new(&RabbitMqSettings { tls, ..RabbitMqSettings::new("main", url) }).unwrap()
}

/// What is said of a broker that cannot be reached.
async fn unreachable(broker: &RabbitMq) -> String {
    let error = broker.prepare(&plan("orders")).await.unwrap_err();
    assert!(matches!(error, BrokerError::Unreachable { .. }), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("[brokers.main]") && !text.contains("guest"), "{text}");
    text
}

/// A server that shakes hands with this certificate, and nothing more.
async fn server(identity: &Identity) -> u16 {
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
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // A client that does not like the certificate is what is wanted.
            drop(acceptor.accept(stream).await);
        }
    });
    port
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_go_both_ways_over_tls_with_a_client_certificate() {
    let (node, wallet) = (Node::shared(), Wallet::new());
    node.control(&[
        "eval",
        "rabbit_amqqueue:declare({resource, <<\"/\">>, queue, <<\"tls\">>}, true, false, [], none, <<\"test\">>).",
    ]);
    let tls = TlsSettings { ca: wallet.ca(&node.authority), identity: wallet.identity(&node.authority) };
    let broker = broker(node.secure_url(), tls);

    broker.prepare(&plan("tls")).await.unwrap();
    let body = vec![7; 3_000_000];
    broker.publish(&queue("tls"), &Message::new(body.clone())).await.unwrap();
    let mut consumer = broker.consume(&Plan::new("orders", "tls"), 1).await.unwrap();
    assert_eq!(crate::next(consumer.as_mut()).await.message.body.as_deref(), Some(&body[..]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_that_wants_a_client_certificate_says_so_and_so_do_we() {
    let (node, wallet) = (Node::shared(), Wallet::new());
    let ca = wallet.ca(&node.authority);
    let text = unreachable(&broker(node.secure_url(), TlsSettings { ca: ca.clone(), identity: None })).await;
    assert!(
        text.contains("wants a client certificate") && text.contains("`certificate` and `key` in the `tls` beside"),
        "{text}"
    );

    let identity = wallet.identity(&Authority::new());
    let text = unreachable(&broker(node.secure_url(), TlsSettings { ca, identity })).await;
    assert!(text.contains("does not accept our certificate"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_signed_by_somebody_else_is_not_talked_to() {
    let (node, wallet) = (Node::shared(), Wallet::new());
    let tls = TlsSettings { ca: wallet.ca(&Authority::new()), identity: None };
    let text = unreachable(&broker(node.secure_url(), tls)).await;
    assert!(text.contains("as `ca` in the `tls` beside"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_ca_only_whom_the_system_trusts_is_trusted() {
    let text = unreachable(&broker(Node::shared().secure_url(), TlsSettings::default())).await;
    assert!(text.contains("signed by nobody whom this host trusts"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_for_another_name_or_out_of_its_time_is_named_as_such() {
    let (authority, wallet) = (Authority::new(), Wallet::new());
    let tls = TlsSettings { ca: wallet.ca(&authority), identity: None };
    let at = |port| format!("amqps://guest:guest@127.0.0.1:{port}/%2f");

    let other = server(&authority.sign(&["mq.example"])).await;
    let text = unreachable(&broker(at(other), tls.clone())).await;
    assert!(text.contains("not for this host but for") && text.contains("mq.example"), "{text}");

    let expired = server(&authority.sign_expired(&["127.0.0.1"])).await;
    let text = unreachable(&broker(at(expired), tls)).await;
    assert!(text.contains("has expired; renew it"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_wrong_port_is_told_from_both_sides() {
    let node = Node::shared();
    let tls_to_plain = format!("amqps://guest:guest@localhost:{}/%2f", node.plain_port());
    let text = unreachable(&broker(tls_to_plain, TlsSettings::default())).await;
    assert!(text.contains("speaks no TLS; write amqp://"), "{text}");

    let plain_to_tls = format!("amqp://guest:guest@localhost:{}/%2f", node.secure_port());
    let text = unreachable(&broker(plain_to_tls, TlsSettings::default())).await;
    assert!(text.contains("speaks TLS; write amqps://"), "{text}");
}

#[test]
fn files_that_cannot_be_used_are_named_before_anything_is_connected_to() {
    let wallet = Wallet::new();
    let (authority, other) = (Authority::new(), Authority::new());
    let garbage = wallet.0.path().join("garbage.pem");
    std::fs::write(&garbage, "nothing").unwrap();
    let (certificate, _) = wallet.identity(&authority).unwrap();
    let (_, foreign_key) = other.sign(&["client"]).write(wallet.0.path(), "foreign");
    for (tls, said) in [
        (TlsSettings { ca: Some("gone.pem".into()), identity: None }, "gone.pem cannot be read"),
        (TlsSettings { ca: Some(garbage.clone()), identity: None }, "holds no certificate in PEM"),
        (TlsSettings { ca: None, identity: Some((certificate.clone(), garbage)) }, "holds no private key in PEM"),
        (TlsSettings { ca: None, identity: Some((certificate, foreign_key)) }, "does not fit the key"),
    ] {
        let settings = RabbitMqSettings { tls, ..RabbitMqSettings::new("main", "amqps://u:s3cret@localhost/") };
        let text = RabbitMq::new(&settings).err().expect("must be refused").to_string();
        assert!(text.contains(said) && text.contains("[brokers.main]") && !text.contains("s3cret"), "{text}");
    }
}
