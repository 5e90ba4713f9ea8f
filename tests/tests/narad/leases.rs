//! Leases: kept while a delivery is in work, and known to be lost where they are.

use std::time::Duration;

use reprieve::broker::{Broker as _, SettleError, Settlement};
use reprieve_tests::narad::{Cluster, Fault, On, Release};

use super::{ack, driver, next, nothing_comes, orders, plan, within};

const SHORT: Duration = Duration::from_millis(600);

#[tokio::test]
async fn a_lease_is_kept_for_as_long_as_its_delivery_is_in_work() {
    for release in [Release::V2_0, Release::V2_2, Release::V3_1] {
        let cluster = Cluster::start(release, 1).await;
        cluster.create_with("orders", SHORT, Duration::from_secs(86_400));
        cluster.produce("orders", "one");
        cluster.produce("orders", "two");
        let mut consumer = driver(&cluster).consume(&plan(), 2).await.unwrap();
        let (one, two) = (next(&mut *consumer).await, next(&mut *consumer).await);
        tokio::time::sleep(SHORT * 4).await;
        assert!(!one.lost.is_cancelled() && !two.lost.is_cancelled(), "{release:?}");
        assert_eq!(cluster.leased("orders"), 2, "{release:?}");
        ack(&one).await;
        ack(&two).await;
        assert!(cluster.payloads("orders").is_empty(), "{release:?}");
    }
}

#[tokio::test]
async fn leases_of_one_topic_are_renewed_together_where_the_node_knows_how() {
    let (cluster, mut consumer) = orders(SHORT).await;
    for number in 0..5 {
        cluster.produce("orders", format!("m{number}"));
    }
    let mut deliveries = Vec::new();
    for _ in 0..5 {
        deliveries.push(next(&mut *consumer).await);
    }
    cluster.until("they are renewed", |cluster| cluster.seen(On::Batch).iter().any(|seen| seen.count > 1)).await;
}

#[tokio::test]
async fn a_lease_that_waits_for_room_is_kept_too() {
    let cluster = Cluster::one().await;
    for topic in ["orders", "reprieve.tier.orders.10s", "reprieve.tier.orders.10s.run"] {
        cluster.create_with(topic, SHORT, Duration::from_secs(86_400));
    }
    cluster.produce("orders", "one");
    cluster.produce("reprieve.tier.orders.10s.run", "two");
    let mut consumer = driver(&cluster).consume(&plan(), 1).await.unwrap();
    let first = next(&mut *consumer).await;
    tokio::time::sleep(SHORT * 3).await;
    ack(&first).await;
    let second = next(&mut *consumer).await;
    assert_ne!(first.message.body, second.message.body);
    ack(&second).await;
}

#[tokio::test]
async fn a_lease_that_is_gone_is_known_while_the_delivery_is_in_work() {
    let (cluster, mut consumer) = orders(SHORT).await;
    cluster.produce("orders", "lost");
    let delivery = next(&mut *consumer).await;
    cluster.forget_leases();
    within(delivery.lost.cancelled()).await;
    let settled = delivery.settler.settle(Settlement::Ack).await;
    assert!(matches!(settled, Err(SettleError::Gone(_))), "{settled:?}");
    let again = next(&mut *consumer).await;
    assert!(again.redelivered);
    assert_eq!(again.message, delivery.message);
}

#[tokio::test]
async fn a_lease_that_is_gone_is_known_though_its_message_goes_to_somebody_else() {
    let cluster = Cluster::one().await;
    cluster.create_with("orders", SHORT, Duration::from_secs(86_400));
    cluster.produce("orders", "taken away");
    // With room for one, nothing is asked for meanwhile.
    let mut consumer = driver(&cluster).consume(&plan(), 1).await.unwrap();
    let delivery = next(&mut *consumer).await;
    cluster.forget_leases();
    within(delivery.lost.cancelled()).await;
    assert!(cluster.seen(On::Extend).iter().any(|seen| seen.status == 410));
}

#[tokio::test]
async fn a_lease_that_cannot_be_renewed_in_its_time_is_taken_for_lost() {
    let (cluster, mut consumer) = orders(SHORT).await;
    cluster.produce("orders", "unlucky");
    let delivery = next(&mut *consumer).await;
    cluster.fail(On::Extend, u32::MAX, Fault::plain(503));
    within(delivery.lost.cancelled()).await;
}

#[tokio::test]
async fn a_renewal_that_fails_is_tried_again() {
    let (cluster, mut consumer) = orders(SHORT * 2).await;
    cluster.produce("orders", "lucky");
    let delivery = next(&mut *consumer).await;
    for fault in [Fault::plain(503), Fault::Drop, Fault::LoseReply, Fault::status(429)] {
        cluster.fail(On::Extend, 1, fault);
    }
    tokio::time::sleep(SHORT * 6).await;
    assert!(!delivery.lost.is_cancelled());
    ack(&delivery).await;
}

#[tokio::test]
async fn a_message_whose_answer_took_longer_than_its_lease_is_not_handed_out() {
    let (cluster, mut consumer) = orders(SHORT).await;
    cluster.produce("orders", "stale");
    // The request that waits now is answered in time, those after it are not.
    let first = next(&mut *consumer).await;
    cluster.fail(On::Consume, 1, Fault::Slow(SHORT * 2));
    first.settler.settle(Settlement::Release).await.unwrap();
    let begin = std::time::Instant::now();
    let delivery = next(&mut *consumer).await;
    ack(&delivery).await;
    assert!(begin.elapsed() < Duration::from_secs(5));
    assert!(cluster.payloads("orders").is_empty());
}

#[tokio::test]
async fn a_batch_that_a_node_does_not_understand_is_renewed_one_by_one() {
    let cluster = Cluster::start(Release::V2_2, 1).await;
    cluster.create_with("orders", SHORT, Duration::from_secs(86_400));
    for number in 0..3 {
        cluster.produce("orders", format!("m{number}"));
    }
    let mut consumer = driver(&cluster).consume(&plan(), 3).await.unwrap();
    let mut deliveries = Vec::new();
    for _ in 0..3 {
        deliveries.push(next(&mut *consumer).await);
    }
    tokio::time::sleep(SHORT * 3).await;
    assert!(deliveries.iter().all(|delivery| !delivery.lost.is_cancelled()));
    assert!(cluster.seen(On::Batch).len() <= 2, "it is not asked again and again: {:?}", cluster.seen(On::Batch));
    assert!(nothing_comes(&mut *consumer, Duration::from_millis(100)).await);
}
