//! Publishing: it counts only with a 202 (rule 2).

use std::time::Duration;

use reprieve::broker::narad::{Envelope, Narad};
use reprieve::broker::{Broker as _, PublishError};
use reprieve::message::Message;
use reprieve::topic::Topic;
use reprieve_tests::narad::{Cluster, Fault, On, Release};

use super::{driver, settings, topic};

#[tokio::test]
async fn a_message_counts_once_the_node_has_accepted_it() {
    for release in [Release::V2_0, Release::V2_2, Release::V3_1] {
        let cluster = Cluster::start(release, 1).await;
        cluster.create("orders.dlq");
        driver(&cluster).publish(&topic("orders.dlq"), &Message::new("m")).await.unwrap();
        assert_eq!(cluster.payloads("orders.dlq").len(), 1, "{release:?}");
    }
}

#[tokio::test]
async fn each_status_but_202_is_an_error_of_the_right_kind() {
    let cluster = Cluster::one().await;
    cluster.create("orders.dlq");
    let driver = driver(&cluster);
    for (status, kind) in [
        (200, "outage"),
        (204, "outage"),
        (302, "outage"),
        (400, "refused"),
        (401, "outage"),
        (403, "outage"),
        (404, "outage"),
        (409, "outage"),
        (413, "too-large"),
        (415, "outage"),
        (421, "outage"),
        (429, "outage"),
        (431, "too-large"),
        (500, "outage"),
        (502, "outage"),
        (503, "outage"),
    ] {
        cluster.fail(On::Produce, 1, Fault::plain(status));
        let error = driver.publish(&topic("orders.dlq"), &Message::new("m")).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{status}: {error}");
        assert!(error.to_string().contains(&status.to_string()), "{error}");
    }
    assert!(cluster.payloads("orders.dlq").is_empty());
}

#[tokio::test]
async fn a_reply_that_is_lost_does_not_count_and_the_next_try_makes_it_two() {
    let cluster = Cluster::one().await;
    cluster.create("orders.dlq");
    let driver = driver(&cluster);
    cluster.fail(On::Produce, 1, Fault::LoseReply);
    let error = driver.publish(&topic("orders.dlq"), &Message::new("m")).await.unwrap_err();
    assert!(matches!(&error, PublishError::Outage(text) if text.contains("not known")), "{error}");
    driver.publish(&topic("orders.dlq"), &Message::new("m")).await.unwrap();
    assert_eq!(cluster.payloads("orders.dlq").len(), 2);
}

#[tokio::test]
async fn an_answer_that_takes_too_long_does_not_count() {
    let cluster = Cluster::one().await;
    cluster.create("orders.dlq");
    let driver = Narad::new({
        let mut settings = settings(&cluster);
        settings.publish_timeout = Duration::from_millis(200);
        settings
    })
    .unwrap();
    cluster.fail(On::Produce, 1, Fault::Slow(Duration::from_secs(2)));
    let error = driver.publish(&topic("orders.dlq"), &Message::new("m")).await.unwrap_err();
    assert_eq!(error.kind(), "outage", "{error}");
}

#[tokio::test]
async fn a_topic_that_is_not_there_or_takes_nothing_is_said_with_its_cure() {
    let cluster = Cluster::one().await;
    for name in ["parent", "child", "strict"] {
        cluster.create(name);
    }
    cluster.attach("parent", "child", Duration::from_secs(1));
    cluster.give_schema("strict");
    let driver = driver(&cluster);
    let message = Message::new("m");
    let missing = driver.publish(&topic("missing"), &message).await.unwrap_err();
    assert!(missing.to_string().contains("create that topic"), "{missing}");
    let delayed = driver.publish(&topic("child"), &message).await.unwrap_err();
    assert!(delayed.to_string().contains("name its parent"), "{delayed}");
    let refused = driver.publish(&topic("strict"), &message).await.unwrap_err();
    assert_eq!(refused.kind(), "refused", "{refused}");
    let exchange = Topic::Exchange { exchange: "x".to_owned(), routing_key: "y".to_owned() };
    let error = driver.publish(&reprieve::broker::Target::Topic(exchange), &message).await.unwrap_err();
    assert!(error.to_string().contains("no exchanges"), "{error}");
}

#[tokio::test]
async fn what_is_larger_than_narad_takes_is_not_even_sent() {
    let cluster = Cluster::one().await;
    cluster.create("orders.dlq");
    let message = Message::new(vec![b'x'; 1024 * 1024]).with_header("tenant", "acme");
    let error = driver(&cluster).publish(&topic("orders.dlq"), &message).await.unwrap_err();
    assert_eq!(error.kind(), "too-large");
    assert!(cluster.seen(On::Produce).is_empty());
    // The last form of a dead letter has no headers, and fits.
    let bare = Message { headers: reprieve::message::Headers::new(), ..message };
    driver(&cluster).publish(&topic("orders.dlq"), &bare).await.unwrap();
    assert_eq!(cluster.payloads("orders.dlq"), [vec![b'x'; 1024 * 1024]]);
}

#[tokio::test]
async fn without_an_envelope_a_copy_is_its_payload_alone() {
    let cluster = Cluster::one().await;
    cluster.create("shared");
    let mut settings = settings(&cluster);
    settings.envelopes.insert("shared".to_owned(), Envelope::None);
    let driver = Narad::new(settings).unwrap();
    let message = Message::new("as it was").with_id("m-1").with_header("tenant", "acme");
    driver.publish(&topic("shared"), &message).await.unwrap();
    assert_eq!(cluster.payloads("shared"), [b"as it was"]);
}

#[tokio::test]
async fn a_key_of_any_bytes_arrives() {
    let cluster = Cluster::one().await;
    cluster.create("orders");
    let driver = driver(&cluster);
    for key in [&b"customer 42&x=1"[..], b"\xff\x00", "gr\u{fc}n".as_bytes()] {
        let message = Message { key: Some(bytes::Bytes::copy_from_slice(key)), ..Message::new("m") };
        driver.publish(&topic("orders"), &message).await.unwrap();
        let mut consumer = driver.consume(&super::plan(), 1).await.unwrap();
        let delivery = super::next(&mut *consumer).await;
        assert_eq!(delivery.message.key.as_deref(), Some(key));
        super::ack(&delivery).await;
    }
}
