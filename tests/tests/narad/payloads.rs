//! Payloads come as they were sent, and a copy of a copy is still the same message (rule 10).

use bytes::Bytes;
use reprieve::broker::Broker as _;
use reprieve::broker::narad::{Envelope, Narad};
use reprieve::message::{HeaderValue, Message, Properties};
use reprieve::timestamp::Timestamp;
use reprieve_tests::narad::Cluster;

use super::{ack, driver, next, plan, settings, topic};

const BODIES: [&[u8]; 9] = [
    br#"{"b":1,  "a":1.00,"a":12345678901234567890}"#,
    b"[1, 2,\n 3]",
    b"42",
    b"plain text",
    b"{\"half\":",
    "gr\u{fc}n \u{1f980} <&>".as_bytes(),
    b"\x89PNG\r\n\x1a\n\x00\xff",
    b"\"42\"",
    b"\"{\\\"a\\\":1}\"",
];

#[tokio::test]
async fn a_bare_payload_is_the_body_byte_for_byte() {
    let cluster = Cluster::one().await;
    cluster.create("orders");
    let mut consumer = driver(&cluster).consume(&plan(), 1).await.unwrap();
    for body in BODIES {
        cluster.produce("orders", body);
        let delivery = next(&mut *consumer).await;
        assert_eq!(delivery.message.body.as_deref(), Some(body));
        ack(&delivery).await;
    }
}

#[tokio::test]
async fn a_copy_comes_back_as_the_same_message_however_often() {
    let cluster = Cluster::one().await;
    cluster.create("orders");
    let driver = driver(&cluster);
    let mut consumer = driver.consume(&plan(), 1).await.unwrap();
    let others: [Option<&[u8]>; 4] = [None, Some(b""), Some(b" {\"a\": 1} "), Some(b"\"hi\"")];
    for body in BODIES.into_iter().map(Some).chain(others) {
        let mut message = Message {
            id: Some("m-1".to_owned()),
            key: Some("customer-42".into()),
            headers: [("a".to_owned(), HeaderValue::I32(1)), ("a".to_owned(), HeaderValue::Null)].into_iter().collect(),
            body: body.map(Bytes::copy_from_slice),
            properties: Properties { correlation_id: Some("c".to_owned()), priority: Some(3), ..Properties::default() },
            timestamp: Some(Timestamp(1_700_000_000_123)),
        };
        for _ in 0..3 {
            driver.publish(&topic("orders"), &message).await.unwrap();
            let delivery = next(&mut *consumer).await;
            assert_eq!(*delivery.message, message);
            ack(&delivery).await;
            message = (*delivery.message).clone();
        }
    }
}

#[tokio::test]
async fn a_senders_own_envelope_is_left_alone_unless_the_route_counts() {
    let envelope = br#"{"payload": {"a": 1}, "delivery_count": 2}"#;
    let cluster = Cluster::one().await;
    cluster.create("orders");
    cluster.produce("orders", envelope);
    let mut consumer = driver(&cluster).consume(&plan(), 1).await.unwrap();
    let delivery = next(&mut *consumer).await;
    assert_eq!(delivery.message.body.as_deref(), Some(&envelope[..]));
    drop(consumer);

    let mut settings = settings(&cluster);
    let counted = Envelope::Counted { route: "orders".to_owned(), prefix: "reprieve-".to_owned() };
    settings.envelopes.insert("orders".to_owned(), counted);
    let driver = Narad::new(settings).unwrap();
    let mut consumer = driver.consume(&plan(), 1).await.unwrap();
    let delivery = next(&mut *consumer).await;
    assert_eq!(delivery.message.body.as_deref(), Some(&br#"{"a": 1}"#[..]));
    assert_eq!(delivery.message.headers.get("reprieve-attempts"), Some(&HeaderValue::I64(2)));
    // A copy of it still has both where other readers look for them.
    cluster.create("copies");
    driver.publish(&topic("copies"), &delivery.message).await.unwrap();
    let copy = cluster.payloads("copies").remove(0);
    assert!(copy.starts_with(br#"{"payload":{"a": 1},"delivery_count":2,"#), "{}", String::from_utf8_lossy(&copy));
}
