//! Deliveries, and settling them on the channel that they came on.

use std::sync::Arc;

use lapin::BasicProperties;
use reprieve::broker::rabbitmq::{RabbitMq, RabbitMqSettings};
use reprieve::broker::{Broker, BrokerError, Plan, SettleError, Settlement};
use reprieve_tests::rabbitmq::{Proxy, Sandbox};

use crate::{driver, next, within};

async fn put(sandbox: &Sandbox, queue: &str, bodies: &[&str]) {
    for body in bodies {
        sandbox.put(queue, body.as_bytes(), BasicProperties::default()).await;
    }
    sandbox.wait_for_count(queue, u32::try_from(bodies.len()).unwrap()).await;
}

#[tokio::test]
async fn an_acknowledged_message_is_gone_and_others_come_in_order() {
    let sandbox = Sandbox::new().await;
    let source = sandbox.queue("source", &[]).await;
    put(&sandbox, &source, &["1", "2", "3"]).await;
    let broker = driver();

    let mut consumer = broker.consume(&Plan::new("orders", &source), 2).await.unwrap();
    for body in ["1", "2", "3"] {
        let delivery = next(consumer.as_mut()).await;
        assert_eq!(delivery.message.body.as_deref(), Some(body.as_bytes()));
        delivery.settler.settle(Settlement::Ack).await.unwrap();
    }
    broker.close().await;
    sandbox.wait_for_count(&source, 0).await;
    assert!(sandbox.poll(&source).await.is_none());
}

#[tokio::test]
async fn a_message_that_is_rejected_or_released_comes_back_as_redelivered() {
    let sandbox = Sandbox::new().await;
    let source = sandbox.queue("source", &[]).await;
    put(&sandbox, &source, &["body"]).await;
    let broker = driver();
    let mut consumer = broker.consume(&Plan::new("orders", &source), 1).await.unwrap();

    let first = next(consumer.as_mut()).await;
    assert!(!first.redelivered);
    first.settler.settle(Settlement::Reject).await.unwrap();
    let second = next(consumer.as_mut()).await;
    assert!(second.redelivered);
    second.settler.settle(Settlement::Release).await.unwrap();
    let third = next(consumer.as_mut()).await;
    assert!(third.redelivered);
    assert_eq!(third.message, first.message);
}

#[tokio::test]
async fn a_delivery_is_settled_once() {
    let sandbox = Sandbox::new().await;
    let source = sandbox.queue("source", &[]).await;
    put(&sandbox, &source, &["body", "next"]).await;
    let broker = driver();
    let mut consumer = broker.consume(&Plan::new("orders", &source), 1).await.unwrap();

    let delivery = next(consumer.as_mut()).await;
    delivery.settler.settle(Settlement::Ack).await.unwrap();
    assert!(matches!(delivery.settler.settle(Settlement::Ack).await, Err(SettleError::Gone(_))));
    // A second ack on the wire would have ended the channel.
    let another = next(consumer.as_mut()).await;
    another.settler.settle(Settlement::Ack).await.unwrap();
}

#[tokio::test]
async fn no_more_messages_are_under_way_than_prefetch_says() {
    let sandbox = Sandbox::new().await;
    let source = sandbox.queue("source", &[]).await;
    put(&sandbox, &source, &["1", "2", "3", "4", "5"]).await;
    let broker = driver();
    let _consumer = broker.consume(&Plan::new("orders", &source), 2).await.unwrap();
    sandbox.wait_for_count(&source, 3).await;
}

#[tokio::test]
async fn a_settle_that_outlives_its_connection_is_gone_and_the_message_comes_back() {
    let sandbox = Sandbox::new().await;
    let source = sandbox.queue("source", &[]).await;
    put(&sandbox, &source, &["body"]).await;
    let proxy = Proxy::start().await;
    let broker = RabbitMq::new(&RabbitMqSettings::new("main", proxy.url())).unwrap();
    let mut consumer = broker.consume(&Plan::new("orders", &source), 1).await.unwrap();
    let delivery = next(consumer.as_mut()).await;
    assert!(!delivery.lost.is_cancelled());

    proxy.cut();
    // Nobody reads from the consumer here: a handler that runs must learn of it all the same.
    within(delivery.lost.cancelled()).await;
    assert!(matches!(delivery.settler.settle(Settlement::Ack).await, Err(SettleError::Gone(_))));
    assert!(matches!(within(consumer.next()).await, Err(BrokerError::Lost { .. })));

    let mut consumer = broker.consume(&Plan::new("orders", &source), 1).await.unwrap();
    let again = next(consumer.as_mut()).await;
    assert!(again.redelivered);
    assert_eq!(again.message, delivery.message);
    again.settler.settle(Settlement::Ack).await.unwrap();
}

#[tokio::test]
async fn a_consumer_whose_queue_is_deleted_is_lost() {
    let sandbox = Sandbox::new().await;
    let source = sandbox.queue("source", &[]).await;
    put(&sandbox, &source, &["body"]).await;
    let broker = driver();
    let mut consumer = broker.consume(&Plan::new("orders", &source), 1).await.unwrap();
    let delivery = next(consumer.as_mut()).await;

    sandbox.delete(&source).await;
    let error = within(consumer.next()).await.err().expect("no delivery");
    assert!(matches!(&error, BrokerError::Lost { source_topic, .. } if *source_topic == source), "{error}");
    assert!(delivery.lost.is_cancelled());
    assert!(matches!(consumer.next().await, Err(BrokerError::Lost { .. })), "it stays ended");
}

#[tokio::test]
async fn a_stopped_consumer_gives_back_what_nobody_has_seen_and_settles_the_rest() {
    let sandbox = Sandbox::new().await;
    let source = sandbox.queue("source", &[]).await;
    put(&sandbox, &source, &["seen", "2", "3", "4"]).await;
    let broker = driver();
    let mut consumer = broker.consume(&Plan::new("orders", &source), 3).await.unwrap();
    let seen = next(consumer.as_mut()).await;
    sandbox.wait_for_count(&source, 1).await;

    within(consumer.stop()).await;
    sandbox.wait_for_count(&source, 3).await;
    assert!(consumer.next().await.is_err());

    drop(consumer);
    assert!(!seen.lost.is_cancelled());
    seen.settler.settle(Settlement::Ack).await.unwrap();
    broker.close().await;
    for body in ["2", "3", "4"] {
        assert_eq!(sandbox.take(&source).await.data, body.as_bytes());
    }
    assert!(sandbox.poll(&source).await.is_none(), "the one that was seen is acknowledged");
}

#[tokio::test]
async fn a_consumer_that_is_dropped_gives_everything_back() {
    let sandbox = Sandbox::new().await;
    let source = sandbox.queue("source", &[]).await;
    put(&sandbox, &source, &["1", "2"]).await;
    let broker = driver();
    let mut consumer = broker.consume(&Plan::new("orders", &source), 2).await.unwrap();
    let delivery = next(consumer.as_mut()).await;

    drop(consumer);
    within(delivery.lost.cancelled()).await;
    sandbox.wait_for_count(&source, 2).await;
}

#[tokio::test]
async fn closing_the_broker_ends_its_deliveries() {
    let sandbox = Sandbox::new().await;
    let source = sandbox.queue("source", &[]).await;
    put(&sandbox, &source, &["body"]).await;
    let broker = driver();
    let mut consumer = broker.consume(&Plan::new("orders", &source), 1).await.unwrap();
    let delivery = next(consumer.as_mut()).await;

    within(broker.close()).await;
    assert!(delivery.lost.is_cancelled());
    assert!(matches!(within(consumer.next()).await, Err(BrokerError::Lost { .. })));
    sandbox.wait_for_count(&source, 1).await;
}

#[tokio::test]
async fn a_delivery_that_nobody_waits_for_any_more_is_not_lost() {
    let sandbox = Sandbox::new().await;
    let source = sandbox.queue("source", &[]).await;
    let broker = Arc::new(driver());
    let mut consumer = broker.consume(&Plan::new("orders", &source), 1).await.unwrap();

    // Give up waiting many times while messages come in.
    let bodies: Vec<String> = (0..50).map(|n| n.to_string()).collect();
    let putting = async {
        for body in &bodies {
            sandbox.put(&source, body.as_bytes(), BasicProperties::default()).await;
        }
    };
    let taking = async {
        let mut taken = Vec::new();
        while taken.len() < bodies.len() {
            let patience = std::time::Duration::from_micros(200);
            if let Ok(delivery) = tokio::time::timeout(patience, consumer.next()).await {
                let delivery = delivery.unwrap();
                taken.push(String::from_utf8(delivery.message.body.clone().unwrap().into()).unwrap());
                delivery.settler.settle(Settlement::Ack).await.unwrap();
            }
        }
        taken
    };
    let ((), taken) = within(async { tokio::join!(putting, taking) }).await;
    assert_eq!(taken, bodies);
}
