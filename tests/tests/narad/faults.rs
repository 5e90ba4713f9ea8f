//! Every status on every call: nothing is lost, and nothing spins.

use std::time::Duration;

use reprieve::broker::{Broker as _, SettleError, Settlement};
use reprieve_tests::narad::{Cluster, Fault, On, Release};

use super::{driver, next, plan};

const STATUSES: [u16; 16] = [200, 204, 302, 400, 401, 403, 404, 409, 410, 413, 415, 421, 429, 500, 502, 503];

#[tokio::test]
async fn whatever_a_settle_is_answered_with_the_message_is_settled_or_comes_again() {
    for (on, settlement) in [(On::Ack, Settlement::Ack), (On::Nack, Settlement::Reject)] {
        for status in STATUSES {
            let cluster = Cluster::one().await;
            cluster.create_with("orders", Duration::from_millis(900), Duration::from_secs(86_400));
            cluster.produce("orders", "m");
            let mut consumer = driver(&cluster).consume(&plan(), 1).await.unwrap();
            let delivery = next(&mut *consumer).await;
            cluster.fail(on, 1, Fault::plain(status));
            let first = delivery.settler.settle(settlement).await;
            let settled = match first {
                Err(SettleError::Retry(_)) => delivery.settler.settle(settlement).await,
                other => other,
            };
            match (settlement, settled) {
                // The stand-in did nothing when it said 200 or 204, so the lease runs out.
                (Settlement::Ack, Ok(())) if !matches!(status, 200 | 204) => {
                    assert!(cluster.payloads("orders").is_empty(), "{status}");
                }
                (_, result) => {
                    assert!(!matches!(result, Err(SettleError::Retry(_))), "{status}: {result:?}");
                    assert!(next(&mut *consumer).await.redelivered, "{status}");
                }
            }
        }
    }
}

#[tokio::test]
async fn no_request_is_without_what_a_node_demands() {
    for release in [Release::V2_0, Release::V2_2, Release::V3_1] {
        let cluster = Cluster::start(release, 1).await;
        cluster.create_with("orders", Duration::from_millis(300), Duration::from_secs(86_400));
        for number in 0..4 {
            cluster.produce("orders", format!("m{number}"));
        }
        let mut consumer = driver(&cluster).consume(&plan(), 4).await.unwrap();
        let mut deliveries = Vec::new();
        for _ in 0..4 {
            deliveries.push(next(&mut *consumer).await);
        }
        tokio::time::sleep(Duration::from_millis(400)).await;
        for (number, delivery) in deliveries.iter().enumerate() {
            let settlement = if number % 2 == 0 { Settlement::Ack } else { Settlement::Release };
            delivery.settler.settle(settlement).await.unwrap();
        }
        for on in [On::Ack, On::Nack, On::Extend, On::Batch, On::Produce, On::Create, On::Consume] {
            assert!(cluster.seen(on).iter().all(|seen| seen.status != 415), "{release:?} {on:?}");
        }
    }
}

#[tokio::test]
async fn a_node_that_always_fails_is_not_asked_without_a_pause() {
    let cluster = Cluster::one().await;
    cluster.create("orders");
    let consumer = driver(&cluster).consume(&plan(), 1).await.unwrap();
    cluster.fail(On::Consume, u32::MAX, Fault::plain(503));
    cluster.produce("orders", "wakes the first request");
    tokio::time::sleep(Duration::from_secs(1)).await;
    let asked = cluster.seen(On::Consume).len();
    assert!((2..10).contains(&asked), "{asked}");
    drop(consumer);
}
