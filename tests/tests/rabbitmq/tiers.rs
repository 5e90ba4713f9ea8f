//! A tier brings the same message back to the queue that it came from, never before its time.

use std::time::{Duration, Instant};

use lapin::types::AMQPValue;
use reprieve::broker::rabbitmq::{RabbitMq, RabbitMqSettings};
use reprieve::broker::{Broker, BrokerError, Plan, PublishError, Target};
use reprieve::message::Message;
use reprieve::topic::Tier;
use reprieve_tests::rabbitmq::Sandbox;

use crate::publishing::full_message;
use crate::{driver, next, plan, settings};

/// A tier that no other test has.
fn tier(sandbox: &Sandbox, delay: Duration) -> Tier {
    let tier = Tier { name: sandbox.name("tier"), delay };
    sandbox.delete_later(&format!("reprieve.tier.{}", tier.name));
    tier
}

fn with_tier(source: &str, tier: &Tier) -> Plan {
    Plan { tiers: vec![tier.clone()], ..plan(source) }
}

#[tokio::test]
async fn a_message_comes_back_to_its_queue_unchanged_and_not_before_its_time() {
    let sandbox = Sandbox::new().await;
    let tier = tier(&sandbox, Duration::from_millis(700));
    let broker = driver();
    // Two routes share the tier, and each gets its own back.
    let sources = [sandbox.queue("one", &[]).await, sandbox.queue("two", &[]).await];
    for source in &sources {
        broker.prepare(&with_tier(source, &tier)).await.unwrap();
    }

    let sent = Instant::now();
    for source in &sources {
        let message = Message { id: Some(source.clone()), ..full_message() };
        broker
            .publish(
                &Target::Tier { tier: tier.clone(), route: "orders".to_owned(), back_to: source.clone() },
                &message,
            )
            .await
            .unwrap();
    }
    for source in &sources {
        let mut consumer = broker.consume(&Plan::new("orders", source), 1).await.unwrap();
        let delivery = next(consumer.as_mut()).await;
        assert!(sent.elapsed() >= tier.delay, "back after {:?}", sent.elapsed());

        let mut message = (*delivery.message).clone();
        assert!(message.headers.get("x-death").is_some());
        // The broker's own marks, which the copies that the host makes do not keep.
        message.headers.retain(|name| !name.starts_with("x-"));
        let mut expected = Message { id: Some(source.clone()), ..full_message() };
        // It would have ended the wait early.
        expected.properties.expiration = None;
        assert_eq!(message, expected);
        assert_eq!(delivery.origin.routing_key.as_ref(), Some(source));
    }
}

#[tokio::test]
async fn a_message_of_its_own_short_life_does_not_come_back_early() {
    let sandbox = Sandbox::new().await;
    let tier = tier(&sandbox, Duration::from_secs(1));
    let source = sandbox.queue("source", &[]).await;
    let broker = driver();
    broker.prepare(&with_tier(&source, &tier)).await.unwrap();
    let mut message = Message::new("body");
    message.properties.expiration = Some("10".to_owned());

    let sent = Instant::now();
    broker
        .publish(&Target::Tier { tier, route: "orders".to_owned(), back_to: source.clone() }, &message)
        .await
        .unwrap();
    assert_eq!(sandbox.take(&source).await.data, b"body");
    assert!(sent.elapsed() >= Duration::from_secs(1), "back after {:?}", sent.elapsed());
}

#[tokio::test]
async fn preparing_twice_is_the_same_as_once() {
    let sandbox = Sandbox::new().await;
    let tier = tier(&sandbox, Duration::from_secs(30));
    let source = sandbox.queue("source", &[]).await;
    for _ in 0..2 {
        driver().prepare(&with_tier(&source, &tier)).await.unwrap();
    }
}

#[tokio::test]
async fn a_tier_that_was_made_otherwise_is_named_with_its_cure() {
    let sandbox = Sandbox::new().await;
    let tier = tier(&sandbox, Duration::from_secs(30));
    let name = format!("reprieve.tier.{}", tier.name);
    let source = sandbox.queue("source", &[]).await;
    let other = [("x-queue-type", AMQPValue::LongString("quorum".into())), ("x-message-ttl", AMQPValue::LongInt(5))];
    sandbox.declare(&name, &other).await.unwrap();

    let Err(BrokerError::Unfit(text)) = driver().prepare(&with_tier(&source, &tier)).await else { panic!("it fits") };
    assert!(text.starts_with(&format!("tier '{}' on broker 'main': ", tier.name)), "{text}");
    assert!(text.contains(&format!("delete exchange and queue '{name}' once the queue is empty")), "{text}");
}

#[tokio::test]
async fn a_missing_tier_is_named_where_declaring_is_not_allowed() {
    let sandbox = Sandbox::new().await;
    let tier = tier(&sandbox, Duration::from_secs(30));
    let source = sandbox.queue("source", &[]).await;
    let asking = RabbitMq::new(&RabbitMqSettings { declare: false, ..settings() }).unwrap();

    let Err(BrokerError::Unfit(text)) = asking.prepare(&with_tier(&source, &tier)).await else { panic!("it is there") };
    assert!(text.contains("x-message-ttl 30000") && text.contains("declare = true"), "{text}");
    // What the other driver declares is what this one asks for.
    driver().prepare(&with_tier(&source, &tier)).await.unwrap();
    asking.prepare(&with_tier(&source, &tier)).await.unwrap();
}

#[tokio::test]
async fn publishing_to_a_tier_that_is_not_there_is_an_outage() {
    let sandbox = Sandbox::new().await;
    let tier = tier(&sandbox, Duration::from_secs(30));
    let back_to = sandbox.queue("source", &[]).await;
    let target = Target::Tier { tier, route: "orders".to_owned(), back_to: back_to.clone() };
    let error = driver().publish(&target, &Message::new("body")).await.unwrap_err();
    assert!(matches!(&error, PublishError::Outage(text) if text.contains(&back_to)), "{error}");
}

#[tokio::test]
async fn nothing_goes_into_a_tier_whose_way_back_does_not_exist() {
    let sandbox = Sandbox::new().await;
    let tier = tier(&sandbox, Duration::from_millis(200));
    let source = sandbox.queue("source", &[]).await;
    let broker = driver();
    broker.prepare(&with_tier(&source, &tier)).await.unwrap();

    let nowhere = Target::Tier { tier: tier.clone(), route: "orders".to_owned(), back_to: sandbox.name("nowhere") };
    let error = broker.publish(&nowhere, &Message::new("body")).await.unwrap_err();
    assert!(matches!(&error, PublishError::Refused(why) if why.contains("does not exist")), "{error}");
    // What goes back to a queue that is there is not held up.
    broker
        .publish(&Target::Tier { tier, route: "orders".to_owned(), back_to: source.clone() }, &Message::new("body"))
        .await
        .unwrap();
    next(broker.consume(&Plan::new("orders", &source), 1).await.unwrap().as_mut()).await;
}
