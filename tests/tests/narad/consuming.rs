//! Taking messages.

use std::time::Duration;

use reprieve::broker::{Broker as _, BrokerError, Settlement};
use reprieve_tests::narad::{Cluster, Fault, On, Release};

use super::{ack, driver, next, next_body, nothing_comes, orders, plan, within};

const MINUTE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn a_message_comes_and_is_gone_once_it_is_acknowledged() {
    let (cluster, mut consumer) = orders(MINUTE).await;
    cluster.produce_with_key("orders", b"customer-42", r#"{"order_id": "o-1"}"#);
    let delivery = next(&mut *consumer).await;
    assert_eq!(delivery.message.body.as_deref(), Some(&br#"{"order_id": "o-1"}"#[..]));
    assert_eq!(delivery.message.key.as_deref(), Some(&b"customer-42"[..]));
    assert!(delivery.message.id.as_deref().is_some_and(|id| id.starts_with("orders/")));
    assert!(!delivery.redelivered);
    ack(&delivery).await;
    assert!(cluster.payloads("orders").is_empty());
}

#[tokio::test]
async fn a_message_that_is_published_while_nothing_was_there_comes_at_once() {
    let (cluster, mut consumer) = orders(MINUTE).await;
    cluster.until("a request waits", |_| true).await;
    assert!(nothing_comes(&mut *consumer, Duration::from_millis(200)).await);
    cluster.produce("orders", "late");
    assert_eq!(next_body(&mut *consumer).await, "late");
}

#[tokio::test]
async fn no_more_are_in_hand_than_the_prefetch() {
    let cluster = Cluster::one().await;
    cluster.create("orders");
    for number in 0..6 {
        cluster.produce("orders", format!("m{number}"));
    }
    let mut consumer = driver(&cluster).consume(&plan(), 2).await.unwrap();
    let first = next(&mut *consumer).await;
    let _second = next(&mut *consumer).await;
    assert!(nothing_comes(&mut *consumer, Duration::from_millis(200)).await);
    assert_eq!(cluster.leased("orders"), 2, "what nobody has room for stays with the broker");
    ack(&first).await;
    next(&mut *consumer).await;
}

#[tokio::test]
async fn what_is_there_comes_in_batches_where_the_node_knows_them() {
    for (release, most) in [(Release::V3_1, 10), (Release::V2_2, 1), (Release::V2_0, 1)] {
        let cluster = Cluster::start(release, 1).await;
        cluster.create("orders");
        for number in 0..10 {
            cluster.produce("orders", format!("m{number}"));
        }
        let mut consumer = driver(&cluster).consume(&plan(), 10).await.unwrap();
        let mut bodies = Vec::new();
        for _ in 0..10 {
            bodies.push(next_body(&mut *consumer).await);
        }
        bodies.sort();
        assert_eq!(bodies, (0..10).map(|number| format!("m{number}")).collect::<Vec<_>>(), "{release:?}");
        let largest = cluster.seen(On::Consume).iter().map(|seen| seen.count).max();
        assert_eq!(largest, Some(most), "{release:?}");
    }
}

#[tokio::test]
async fn what_is_given_back_comes_again_and_says_so() {
    let (cluster, mut consumer) = orders(MINUTE).await;
    cluster.produce("orders", "again");
    for settlement in [Settlement::Reject, Settlement::Release] {
        let delivery = next(&mut *consumer).await;
        delivery.settler.settle(settlement).await.unwrap();
    }
    let delivery = next(&mut *consumer).await;
    assert!(delivery.redelivered);
    ack(&delivery).await;
}

#[tokio::test]
async fn a_message_that_another_consumer_had_in_hand_says_so() {
    let (cluster, mut consumer) = orders(MINUTE).await;
    drop(consumer);
    cluster.produce_with_key("orders", b"k", "first");
    cluster.produce_with_key("orders", b"k", "second");
    let mut other = driver(&cluster).consume(&plan(), 1).await.unwrap();
    let held = next(&mut *other).await;
    consumer = driver(&cluster).consume(&plan(), 10).await.unwrap();
    let second = next(&mut *consumer).await;
    assert!(!second.redelivered);
    held.settler.settle(Settlement::Release).await.unwrap();
    // Either takes it, and one of them is here.
    drop(other);
    let first = next(&mut *consumer).await;
    assert!(first.redelivered && first.message.body != second.message.body);
}

#[tokio::test]
async fn a_stop_gives_back_what_nobody_has_seen_and_leaves_the_rest_to_be_settled() {
    let (cluster, mut consumer) = orders(MINUTE).await;
    for number in 0..3 {
        cluster.produce("orders", format!("m{number}"));
    }
    let seen = next(&mut *consumer).await;
    cluster.until("all are leased", |cluster| cluster.leased("orders") == 3).await;
    within(consumer.stop()).await;
    assert_eq!(cluster.leased("orders"), 1);
    ack(&seen).await;
    within(consumer.close()).await;
    assert_eq!(cluster.payloads("orders").len(), 2);
    assert!(matches!(consumer.next().await, Err(BrokerError::Lost { .. })));
}

#[tokio::test]
async fn a_stop_does_not_wait_for_a_message_that_does_not_come() {
    let (_cluster, mut consumer) = orders(MINUTE).await;
    assert!(nothing_comes(&mut *consumer, Duration::from_millis(100)).await);
    let begin = std::time::Instant::now();
    consumer.stop().await;
    assert!(begin.elapsed() < Duration::from_secs(2));
}

#[tokio::test]
async fn a_consumer_that_is_dropped_gives_everything_back() {
    let (cluster, mut consumer) = orders(MINUTE).await;
    cluster.produce("orders", "seen");
    cluster.produce("orders", "unseen");
    let delivery = next(&mut *consumer).await;
    cluster.until("both are leased", |cluster| cluster.leased("orders") == 2).await;
    drop(consumer);
    assert!(delivery.lost.is_cancelled());
    cluster.until("none is leased", |cluster| cluster.leased("orders") == 0).await;
}

#[tokio::test]
async fn a_driver_that_is_closed_ends_its_consumers_and_gives_everything_back() {
    let cluster = Cluster::one().await;
    cluster.create("orders");
    cluster.produce("orders", "m");
    let driver = driver(&cluster);
    let mut consumer = driver.consume(&plan(), 1).await.unwrap();
    let delivery = next(&mut *consumer).await;
    within(driver.close()).await;
    assert!(delivery.lost.is_cancelled() && consumer.lost().is_cancelled());
    assert!(within(consumer.next()).await.is_err());
    assert_eq!(cluster.leased("orders"), 0);
    // It can begin anew.
    let mut consumer = driver.consume(&plan(), 1).await.unwrap();
    next(&mut *consumer).await;
}

#[tokio::test]
async fn trouble_of_a_node_is_waited_out() {
    let statuses = [429, 500, 502, 503, 421].map(Fault::plain);
    for fault in statuses.into_iter().chain([Fault::Drop, Fault::Status(200, "<html>".to_owned())]) {
        let cluster = Cluster::one().await;
        cluster.create("orders");
        cluster.fail(On::Consume, 2, fault.clone());
        cluster.produce("orders", "after all");
        let mut consumer = driver(&cluster).consume(&plan(), 10).await.unwrap();
        assert_eq!(next_body(&mut *consumer).await, "after all", "{fault:?}");
    }
}

#[tokio::test]
async fn a_consumer_that_is_refused_ends_and_says_why() {
    for status in [400, 401, 403, 404, 409, 415] {
        let (cluster, mut consumer) = orders(MINUTE).await;
        cluster.fail(On::Consume, u32::MAX, Fault::status(status));
        // A request may be waiting already.
        cluster.produce("orders", "first");
        let error = loop {
            match within(consumer.next()).await {
                Ok(delivery) => ack(&delivery).await,
                Err(error) => break error,
            }
        };
        let text = error.to_string();
        assert!(text.contains(&status.to_string()) && text.contains("planned"), "{text}");
        assert!(consumer.lost().is_cancelled());
    }
}

#[tokio::test]
async fn a_consumer_that_gets_no_answer_for_as_long_as_a_lease_lasts_ends() {
    let (cluster, mut consumer) = orders(Duration::from_millis(300)).await;
    cluster.fail(On::Consume, u32::MAX, Fault::plain(503));
    let error = within(consumer.next()).await.err().expect("an end");
    assert!(error.to_string().contains("503"), "{error}");
}
