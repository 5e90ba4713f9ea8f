//! Confirmed and kept, or an error.

use bytes::Bytes;
use rdkafka::mocking::MockCluster;
use rdkafka::types::{RDKafkaApiKey, RDKafkaRespErr};
use reprieve::broker::kafka::{Kafka, KafkaSettings};
use reprieve::broker::{Broker, PublishError, Target};
use reprieve::message::{HeaderValue, Message};
use reprieve::topic::Topic;
use reprieve_tests::kafka::Sandbox;

use super::{kafka, settings, tier};

fn to(topic: &str) -> Target {
    Target::Topic(Topic::from(topic))
}

#[tokio::test]
async fn a_message_is_kept_byte_for_byte() {
    let sandbox = Sandbox::new();
    let topic = sandbox.topic("dlq", 2, &[]).await;
    let broker = kafka();
    let mut message = Message::new(&b"\0\xff"[..]).with_id("A7");
    message.key = Some(Bytes::from_static(b""));
    message.headers.push("b", HeaderValue::Bytes(Bytes::from_static(b"\xfe")));
    message.headers.push("a", HeaderValue::Null);
    message.headers.push("b", HeaderValue::Bytes(Bytes::new()));
    message.headers.push("reprieve-attempts", 3u32);
    broker.publish(&to(&topic), &message).await.unwrap();
    broker.publish(&to(&topic), &Message { key: None, body: None, ..Message::default() }).await.unwrap();
    broker.close().await;

    let records = sandbox.read(&topic).await;
    let first = records.iter().find(|record| record.key.is_some()).unwrap();
    assert_eq!((first.key.as_deref(), first.value.as_deref()), (Some(&b""[..]), Some(&b"\0\xff"[..])));
    let headers: Vec<_> = first.headers.iter().map(|(name, value)| (name.as_str(), value.as_deref())).collect();
    assert_eq!(
        headers,
        [
            ("b", Some(&b"\xfe"[..])),
            ("a", None),
            ("b", Some(b"")),
            ("reprieve-attempts", Some(b"3")),
            ("reprieve-id", Some(b"A7")),
        ]
    );
    let second = records.iter().find(|record| record.key.is_none()).unwrap();
    assert_eq!((&second.value, second.headers.len()), (&None, 0));
}

/// The broker refuses a batch as a whole, and with it whatever small records are in it.
#[tokio::test]
async fn records_that_are_too_large_together_are_kept_each_by_itself() {
    let sandbox = Sandbox::new();
    let topic = sandbox.topic("dlq", 1, &[("max.message.bytes", "20000")]).await;
    let mut settings = settings();
    settings.client.insert("linger.ms".to_owned(), "200".to_owned());
    let broker = Kafka::new(&settings).unwrap();
    let target = to(&topic);
    let small = Message::new(vec![b'x'; 4_000]);
    let large = Message::new(vec![b'x'; 30_000]);
    let all = (0..20).map(|_| broker.publish(&target, &small));
    let (kept, refused) = tokio::join!(futures_util::future::join_all(all), broker.publish(&target, &large));
    assert_eq!(kept, vec![Ok(()); 20]);
    assert!(matches!(refused, Err(PublishError::TooLarge(_))), "{refused:?}");
    broker.close().await;
    assert_eq!(sandbox.read(&topic).await.len(), 20);
}

/// Else the broker counts by the sender's time how long a dead letter is kept, and throws an old one away at once.
#[tokio::test]
async fn a_copy_of_an_old_message_is_as_new_as_its_copy() {
    let sandbox = Sandbox::new();
    let topic = sandbox.topic("dlq", 1, &[]).await;
    let mut message = Message::new("old");
    message.timestamp = Some(reprieve::timestamp::Timestamp(1_000));
    let before = reprieve::timestamp::Timestamp::now().0;
    kafka().publish(&to(&topic), &message).await.unwrap();
    let at = sandbox.read(&topic).await[0].timestamp.unwrap();
    assert!(u64::try_from(at).unwrap() >= before, "{at}");
}

/// As the clients of the JVM place them: murmur2 of the key.
#[tokio::test]
async fn a_key_stays_on_its_partition_whatever_topic_has_how_many() {
    let sandbox = Sandbox::new();
    let topic = sandbox.topic("dlq", 10, &[]).await;
    let broker = kafka();
    for key in ["21", "foobar"] {
        let message = Message { key: Some(key.into()), ..Message::new(key) };
        broker.publish(&to(&topic), &message).await.unwrap();
    }
    let placed = sandbox.read(&topic).await;
    let of = |key: &str| placed.iter().find(|record| record.body() == key).unwrap().partition;
    // Kafka's own tests: murmur2("21") is -973932308, murmur2("foobar") is -790332482; the sign bit is cleared.
    assert_eq!(
        (of("21"), of("foobar")),
        (Some((-973_932_308 & 0x7fff_ffff) % 10), Some((-790_332_482 & 0x7fff_ffff) % 10))
    );
}

#[tokio::test]
async fn a_record_for_a_tier_says_where_it_returns_to() {
    let sandbox = Sandbox::new();
    let route = sandbox.name("route");
    let topic = format!("reprieve.tier.{route}.30s");
    sandbox.create(&topic, 1, &[]).await;
    sandbox.delete_later(&topic);
    let target = Target::Tier { tier: tier("30s", 30), route, back_to: "orders".to_owned() };
    kafka().publish(&target, &Message::new("x")).await.unwrap();
    assert_eq!(sandbox.read(&topic).await[0].text("reprieve-back-to"), Some("orders"));
}

#[tokio::test]
async fn a_record_that_is_too_large_for_its_topic_concerns_the_message_alone() {
    let sandbox = Sandbox::new();
    let topic = sandbox.topic("dlq", 1, &[("max.message.bytes", "2000")]).await;
    let broker = kafka();
    let (large, target) = (Message::new(vec![7; 3000]), to(&topic));
    let (small, tiny) = (Message::new("small"), Message::new("tiny"));
    let published =
        tokio::join!(broker.publish(&target, &small), broker.publish(&target, &large), broker.publish(&target, &tiny));
    assert!(matches!(published.1, Err(PublishError::TooLarge(_))), "{published:?}");
    // Whoever went in one batch with it is tried again by the route, and passes alone.
    broker.publish(&target, &Message::new("after")).await.unwrap();
    assert!(sandbox.read(&topic).await.iter().any(|record| record.body() == "after"));
}

#[tokio::test]
async fn a_record_without_a_key_is_refused_by_a_compacted_topic() {
    let sandbox = Sandbox::new();
    let topic = sandbox.topic("state", 1, &[("cleanup.policy", "compact")]).await;
    let refused = kafka().publish(&to(&topic), &Message::new("x")).await.unwrap_err();
    assert!(matches!(refused, PublishError::Refused(_)), "{refused}");
}

#[tokio::test]
async fn a_missing_topic_is_an_outage_that_names_it_and_the_cure() {
    let sandbox = Sandbox::new();
    let topic = sandbox.name("nowhere");
    let outage = kafka().publish(&to(&topic), &Message::new("x")).await.unwrap_err();
    assert_eq!(
        outage,
        PublishError::Outage(format!("there is no topic {topic}: create it, or correct its name in the configuration"))
    );
}

#[tokio::test]
async fn what_no_record_can_carry_is_refused_without_a_panic() {
    let sandbox = Sandbox::new();
    let topic = sandbox.topic("dlq", 1, &[]).await;
    let broker = kafka();
    let refused = broker.publish(&to(&topic), &Message::new("x").with_header("a\0", "1")).await.unwrap_err();
    assert!(matches!(refused, PublishError::Refused(_)), "{refused}");
    for topic in [Topic::from("a\0b"), Topic::Exchange { exchange: "e".to_owned(), routing_key: "k".to_owned() }] {
        let outage = broker.publish(&Target::Topic(topic), &Message::new("x")).await.unwrap_err();
        assert!(matches!(outage, PublishError::Outage(_)), "{outage}");
    }
}

#[tokio::test]
async fn a_publish_that_is_given_up_disturbs_no_other() {
    let sandbox = Sandbox::new();
    let topic = sandbox.topic("dlq", 1, &[]).await;
    let broker = kafka();
    let target = to(&topic);
    for number in 0..20 {
        let message = Message::new(format!("{number}"));
        let publish = broker.publish(&target, &message);
        // Begun, and dropped before its report.
        assert!(tokio::time::timeout(std::time::Duration::ZERO, publish).await.is_err());
    }
    broker.publish(&target, &Message::new("last")).await.unwrap();
    broker.close().await;
    let bodies: Vec<_> = sandbox.read(&topic).await.iter().map(|record| record.body().to_owned()).collect();
    assert_eq!(bodies.last().map(String::as_str), Some("last"));
    assert_eq!(bodies.len(), 21, "each once: {bodies:?}");
}

#[tokio::test]
async fn a_broker_that_is_away_is_an_outage_within_the_time_that_a_publish_may_take() {
    let mut away = settings();
    away.servers = vec!["127.0.0.1:1".to_owned()];
    away.publish_timeout = std::time::Duration::from_secs(1);
    let broker = Kafka::new(&away).unwrap();
    let outage = broker.publish(&to("orders.dlq"), &Message::new("x")).await.unwrap_err();
    assert!(outage.to_string().contains("publish_timeout"), "{outage}");
}

#[tokio::test]
async fn a_producer_that_can_not_keep_its_promise_any_more_is_replaced() {
    let cluster = MockCluster::new(1).unwrap();
    cluster.create_topic("dlq", 1, 1).unwrap();
    // To an idempotent producer this is an end.
    cluster.request_errors(
        RDKafkaApiKey::InitProducerId,
        &[RDKafkaRespErr::RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED],
    );
    let broker = Kafka::new(&KafkaSettings::new("mock", cluster.bootstrap_servers())).unwrap();
    let outage = broker.publish(&to("dlq"), &Message::new("first")).await.unwrap_err();
    assert!(matches!(outage, PublishError::Outage(_)), "{outage}");
    broker.publish(&to("dlq"), &Message::new("second")).await.unwrap();
}
