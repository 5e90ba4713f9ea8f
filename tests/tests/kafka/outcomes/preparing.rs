//! What must be there before a route starts.

use reprieve::broker::kafka::Kafka;
use reprieve::broker::{Broker, Plan};
use reprieve::topic::Topic;
use reprieve_tests::kafka::{Record, Sandbox};

use super::{kafka, plan, refusal, settings, tier};

#[tokio::test]
async fn what_is_missing_is_created_so_that_it_keeps_what_is_published() {
    let sandbox = Sandbox::new();
    let source = sandbox.topic("orders", 2, &[("max.message.bytes", "2000000")]).await;
    let dlq = sandbox.name("dlq");
    let route = Plan { tiers: vec![tier("30s", 30)], ..plan(&sandbox, &source, &dlq) };
    let tier = format!("reprieve.tier.{}.30s", route.route);
    sandbox.delete_later(&tier);
    let broker = kafka();
    let prepared = broker.prepare(&route).await.unwrap();
    assert!(prepared.requeue_is_safe);
    assert_eq!((sandbox.partitions(&dlq).await, sandbox.partitions(&tier).await), (Some(2), Some(2)));
    for (topic, name, value) in [
        (&dlq, "cleanup.policy", "delete"),
        (&dlq, "retention.ms", "-1"),
        (&dlq, "max.message.bytes", "2065536"),
        (&tier, "message.timestamp.type", "LogAppendTime"),
        (&tier, "retention.ms", "1209630000"),
        (&tier, "retention.bytes", "-1"),
    ] {
        assert_eq!(sandbox.configured(topic, name).await.as_deref(), Some(value), "{name} of {topic}");
    }
    assert_eq!(prepared.max_header_bytes, Some(2_065_536 / 2));
    let again = broker.prepare(&route).await.unwrap();
    assert_eq!(again, prepared, "what is there is as good as what was made");
}

#[tokio::test]
async fn where_nothing_may_be_made_it_is_said_what_to_make() {
    let sandbox = Sandbox::new();
    let source = sandbox.topic("orders", 1, &[]).await;
    let dlq = sandbox.name("dlq");
    let broker = Kafka::new(&reprieve::broker::kafka::KafkaSettings { declare: false, ..settings() }).unwrap();
    let route = plan(&sandbox, &source, &dlq);
    let text = refusal(&broker, &route).await;
    assert!(text.contains(&format!("topic '{dlq}', for dead letters of route")), "{text}");
    assert!(text.ends_with("create it with cleanup.policy=delete, retention.ms=-1"), "{text}");
    let route = Plan { tiers: vec![tier("30s", 30)], topics: Vec::new(), ..route };
    let text = refusal(&broker, &route).await;
    assert!(text.contains("message.timestamp.type=LogAppendTime"), "{text}");
    assert_eq!(sandbox.partitions(&dlq).await, None);
}

#[tokio::test]
async fn a_missing_source_is_never_made() {
    let sandbox = Sandbox::new();
    let (source, dlq) = (sandbox.name("orders"), sandbox.name("dlq"));
    let text = refusal(&kafka(), &plan(&sandbox, &source, &dlq)).await;
    assert!(text.starts_with(&format!("topic '{source}' does not exist on broker 'main'")), "{text}");
    assert_eq!((sandbox.partitions(&source).await, sandbox.partitions(&dlq).await), (None, None));
}

#[tokio::test]
async fn a_tier_that_would_lose_what_waits_is_refused_with_the_cure() {
    let sandbox = Sandbox::new();
    let source = sandbox.topic("orders", 1, &[]).await;
    for (name, value) in
        [("cleanup.policy", "compact"), ("message.timestamp.type", "CreateTime"), ("retention.ms", "3600000")]
    {
        let route = Plan { tiers: vec![tier("30s", 30)], ..Plan::new(&sandbox.name(name), &source) };
        let topic = format!("reprieve.tier.{}.30s", route.route);
        sandbox.delete_later(&topic);
        let right = [("message.timestamp.type", "LogAppendTime"), ("retention.ms", "-1"), (name, value)];
        sandbox.create(&topic, 1, &right).await;
        let text = refusal(&kafka(), &route).await;
        assert!(text.contains(&topic) && text.contains(&format!("--add-config {name}=")), "{text}");
    }
}

#[tokio::test]
async fn a_compacted_topic_takes_no_dead_letters_but_what_came_from_it_goes_back() {
    let sandbox = Sandbox::new();
    let compacted = sandbox.topic("state", 1, &[("cleanup.policy", "compact")]).await;
    let text = refusal(&kafka(), &plan(&sandbox, &compacted, &compacted)).await;
    assert!(text.contains("is compacted"), "{text}");
    let redrive = Plan { origins: vec![Topic::from(compacted.as_str())], ..Plan::new("redrive", &compacted) };
    kafka().prepare(&redrive).await.unwrap();
}

#[tokio::test]
async fn dead_letters_may_go_to_fewer_partitions_and_doubts_are_named() {
    let sandbox = Sandbox::new();
    let source = sandbox.topic("orders", 3, &[]).await;
    let dlq = sandbox.topic("dlq", 1, &[("retention.ms", "86400000"), ("max.message.bytes", "1000")]).await;
    let prepared = kafka().prepare(&plan(&sandbox, &source, &dlq)).await.unwrap();
    let remarks = prepared.remarks.join("\n");
    assert!(
        remarks.contains(&format!("topic '{dlq}' throws dead letters away after 1day (retention.ms)")),
        "{remarks}"
    );
    assert!(remarks.contains(&format!("topic '{dlq}' takes records of 1000 bytes")), "{remarks}");
    assert!(remarks.contains("min.insync.replicas"), "{remarks}");
    assert_eq!(prepared.max_header_bytes, Some(500));
}

#[tokio::test]
async fn a_tier_that_is_not_configured_any_more_is_named_while_records_wait_there() {
    let sandbox = Sandbox::new();
    let source = sandbox.topic("orders", 1, &[]).await;
    let dlq = sandbox.topic("dlq", 1, &[]).await;
    let route = plan(&sandbox, &source, &dlq);
    let old = format!("reprieve.tier.{}.5m", route.route);
    // Of a route whose name begins alike.
    let others = format!("reprieve.tier.{}.next.5m", route.route);
    for topic in [&old, &others] {
        sandbox.create(topic, 1, &[]).await;
        sandbox.delete_later(topic);
        sandbox.put(topic, &Record::new("waits").on(0)).await;
    }
    let named = |remarks: &[String], topic: &str| remarks.iter().any(|remark| remark.contains(&format!("'{topic}'")));
    let remarks = kafka().prepare(&route).await.unwrap().remarks;
    assert!(named(&remarks, &old) && !named(&remarks, &others), "{remarks:?}");
    assert!(
        remarks.iter().any(|remark| remark.contains("up to 1 records") && remark.contains("\"5m\"")),
        "{remarks:?}"
    );
    sandbox.commit(&format!("reprieve.{}", route.route), &old, &[(0, 1)]).await;
    assert!(!named(&kafka().prepare(&route).await.unwrap().remarks, &old), "nothing waits there any more");
}

#[tokio::test]
async fn names_that_kafka_does_not_take_are_said_before_anything_is_asked() {
    let sandbox = Sandbox::new();
    let source = sandbox.topic("orders", 1, &[]).await;
    let text = refusal(&kafka(), &plan(&sandbox, &source, "a b")).await;
    assert!(text.contains("\"a b\"") && text.contains("cannot be a topic's name"), "{text}");
    let exchange = Topic::Exchange { exchange: "e".to_owned(), routing_key: "k".to_owned() };
    let text = refusal(&kafka(), &Plan { topics: vec![exchange], ..Plan::new("r", &source) }).await;
    assert!(text.contains("Kafka has no exchanges"), "{text}");
}

#[tokio::test]
async fn settings_that_do_not_go_together_are_refused_without_their_values() {
    let mut wrong = settings();
    wrong.client.insert("security.protocol".to_owned(), "ssl".to_owned());
    wrong.client.insert("ssl.ca.location".to_owned(), "/no/such/hunter2.pem".to_owned());
    let error = Kafka::new(&wrong).err().expect("it must be refused").to_string();
    assert!(error.starts_with("the settings of broker 'main' cannot be used"), "{error}");
    assert!(error.contains("ssl.ca.location"), "{error}");
}
