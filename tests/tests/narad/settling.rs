//! Acks and hand-backs that do not go through at once (rule 15).

use std::time::Duration;

use reprieve::broker::{Broker as _, Delivery, SettleError, Settlement};
use reprieve_tests::narad::{Cluster, Fault, On, Release};

use super::{driver, next, orders, plan};

const MINUTE: Duration = Duration::from_secs(60);

/// Settles as a route does: again for as long as the broker may still take it.
async fn until_settled(delivery: &Delivery, settlement: Settlement) -> (Result<(), SettleError>, u32) {
    let mut retries = 0;
    loop {
        match delivery.settler.settle(settlement).await {
            Err(SettleError::Retry(_)) => retries += 1,
            other => return (other, retries),
        }
    }
}

#[tokio::test]
async fn an_ack_is_tried_again_until_the_node_takes_it() {
    for fault in
        [Fault::plain(502), Fault::plain(503), Fault::status(429), Fault::status(500), Fault::status(421), Fault::Drop]
    {
        let (cluster, mut consumer) = orders(MINUTE).await;
        cluster.produce("orders", "m");
        let delivery = next(&mut *consumer).await;
        cluster.fail(On::Ack, 2, fault.clone());
        assert_eq!(until_settled(&delivery, Settlement::Ack).await, (Ok(()), 2), "{fault:?}");
        assert!(cluster.payloads("orders").is_empty(), "{fault:?}");
    }
}

#[tokio::test]
async fn a_410_after_a_lost_reply_counts_as_done_and_the_message_is_not_lost_again() {
    let (cluster, mut consumer) = orders(MINUTE).await;
    cluster.produce("orders", "m");
    let delivery = next(&mut *consumer).await;
    cluster.fail(On::Ack, 1, Fault::LoseReply);
    let (settled, retries) = until_settled(&delivery, Settlement::Ack).await;
    // As good as done: whoever hears this remembers that the outcome is durable.
    assert!(matches!(settled, Err(SettleError::Gone(_))), "{settled:?}");
    assert_eq!(retries, 1);
    assert!(!delivery.lost.is_cancelled(), "it is no lease that somebody else took");
    assert!(cluster.payloads("orders").is_empty());
}

#[tokio::test]
async fn a_410_at_once_means_that_the_lease_is_gone() {
    let (cluster, mut consumer) = orders(MINUTE).await;
    cluster.produce("orders", "m");
    let delivery = next(&mut *consumer).await;
    cluster.forget_leases();
    let (settled, retries) = until_settled(&delivery, Settlement::Ack).await;
    assert!(matches!(settled, Err(SettleError::Gone(_))) && retries == 0, "{settled:?}");
    assert!(delivery.lost.is_cancelled());
}

#[tokio::test]
async fn a_410_after_a_503_is_a_lease_that_is_gone() {
    let (cluster, mut consumer) = orders(MINUTE).await;
    cluster.produce("orders", "m");
    let delivery = next(&mut *consumer).await;
    cluster.fail(On::Ack, 1, Fault::plain(503));
    assert!(matches!(delivery.settler.settle(Settlement::Ack).await, Err(SettleError::Retry(_))));
    cluster.forget_leases();
    assert!(matches!(delivery.settler.settle(Settlement::Ack).await, Err(SettleError::Gone(_))));
    assert!(delivery.lost.is_cancelled());
}

#[tokio::test]
async fn a_hand_back_whose_reply_was_lost_has_been_given_back() {
    let (cluster, mut consumer) = orders(MINUTE).await;
    cluster.produce("orders", "m");
    let delivery = next(&mut *consumer).await;
    cluster.fail(On::Nack, 1, Fault::LoseReply);
    assert_eq!(until_settled(&delivery, Settlement::Reject).await, (Ok(()), 1));
    assert!(next(&mut *consumer).await.redelivered);
}

#[tokio::test]
async fn a_delivery_is_settled_once() {
    let (cluster, mut consumer) = orders(MINUTE).await;
    cluster.produce("orders", "m");
    let delivery = next(&mut *consumer).await;
    delivery.settler.settle(Settlement::Ack).await.unwrap();
    assert!(matches!(delivery.settler.settle(Settlement::Ack).await, Err(SettleError::Gone(_))));
    assert_eq!(cluster.seen(On::Ack).len(), 1);
}

#[tokio::test]
async fn acks_that_are_given_together_go_together_where_the_node_knows_how() {
    for (release, batches) in [(Release::V3_1, true), (Release::V2_2, false), (Release::V2_0, false)] {
        let cluster = Cluster::start(release, 1).await;
        cluster.create("orders");
        for number in 0..40 {
            cluster.produce("orders", format!("m{number}"));
        }
        let mut consumer = driver(&cluster).consume(&plan(), 40).await.unwrap();
        let mut deliveries = Vec::new();
        for _ in 0..40 {
            deliveries.push(next(&mut *consumer).await);
        }
        let acks = deliveries.iter().map(|delivery| delivery.settler.settle(Settlement::Ack));
        for settled in futures_util::future::join_all(acks).await {
            settled.unwrap();
        }
        assert!(cluster.payloads("orders").is_empty(), "{release:?}");
        let done =
            cluster.seen(On::Batch).iter().filter(|seen| seen.status == 200).map(|seen| seen.count).sum::<usize>();
        assert_eq!(done > 0, batches, "{release:?}");
        assert!(cluster.seen(On::Ack).iter().all(|seen| seen.status == 204), "{release:?}");
    }
}

#[tokio::test]
async fn of_a_batch_only_what_was_not_taken_is_tried_again() {
    let (cluster, mut consumer) = orders(MINUTE).await;
    for number in 0..10 {
        cluster.produce("orders", format!("m{number}"));
    }
    let mut deliveries = Vec::new();
    for _ in 0..10 {
        deliveries.push(next(&mut *consumer).await);
    }
    // It was carried out, and says of each that it may not have been.
    cluster.fail(On::Batch, 1, Fault::Results(502));
    let settled =
        futures_util::future::join_all(deliveries.iter().map(|delivery| until_settled(delivery, Settlement::Ack)))
            .await;
    for (settled, retries) in settled {
        assert!(matches!((&settled, retries), (Ok(()), 0) | (Err(SettleError::Gone(_)), 1)), "{settled:?} {retries}");
    }
    assert!(cluster.payloads("orders").is_empty());
    assert!(deliveries.iter().all(|delivery| !delivery.lost.is_cancelled()));
}

#[tokio::test]
async fn an_ack_that_is_not_answered_holds_up_no_other() {
    let (cluster, mut consumer) = orders(MINUTE).await;
    cluster.produce("orders", "slow");
    cluster.produce("orders", "quick");
    let (slow, quick) = (next(&mut *consumer).await, next(&mut *consumer).await);
    cluster.fail(On::Ack, 1, Fault::Slow(Duration::from_secs(3)));
    let slow = tokio::spawn(async move { slow.settler.settle(Settlement::Ack).await });
    cluster.until("the slow ack is under way", |cluster| cluster.payloads("orders").len() == 1).await;
    let begin = std::time::Instant::now();
    quick.settler.settle(Settlement::Ack).await.unwrap();
    assert!(begin.elapsed() < Duration::from_secs(2));
    assert_eq!(slow.await.unwrap(), Ok(()));
}
