//! Deliveries, and settling them on the channel that they came on.

use lapin::BasicProperties;
use reprieve::broker::{Broker, BrokerError, Plan, Settlement};
use reprieve_tests::rabbitmq::Sandbox;

use crate::{driver, next, within};

async fn put(sandbox: &Sandbox, queue: &str, bodies: &[&str]) {
    for body in bodies {
        sandbox.put(queue, body.as_bytes(), BasicProperties::default()).await;
    }
    sandbox.wait_for_count(queue, u32::try_from(bodies.len()).unwrap()).await;
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
