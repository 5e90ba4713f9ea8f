//! Durable delays.

use std::time::{Duration, Instant};

use reprieve::broker::{Broker as _, Plan, Target};
use reprieve::message::Message;
use reprieve_tests::narad::{Cluster, Fault, On};

use super::{ack, driver, next, nothing_comes, plan, tier};

fn through(millis: u64, back_to: &str) -> Target {
    Target::Tier { tier: tier(millis), route: "orders".to_owned(), back_to: back_to.to_owned() }
}

async fn prepared() -> (Cluster, Plan) {
    let cluster = Cluster::one().await;
    cluster.create("orders");
    let plan = Plan { tiers: vec![tier(300), tier(60_000)], ..plan() };
    driver(&cluster).prepare(&plan).await.unwrap();
    (cluster, plan)
}

#[tokio::test]
async fn a_message_comes_back_after_its_delay_and_once() {
    let (cluster, plan) = prepared().await;
    let driver = driver(&cluster);
    let mut consumer = driver.consume(&plan, 10).await.unwrap();
    let message = Message::new("again").with_id("m-1").with_header("reprieve-attempts", 1_u32);
    let begin = Instant::now();
    driver.publish(&through(300, "orders"), &message).await.unwrap();
    let delivery = next(&mut *consumer).await;
    assert!(begin.elapsed() >= Duration::from_millis(300), "{:?}", begin.elapsed());
    assert_eq!((&delivery.message.id, &delivery.message.body), (&message.id, &message.body));
    assert_eq!(delivery.message.headers, message.headers);
    ack(&delivery).await;
    assert!(nothing_comes(&mut *consumer, Duration::from_millis(300)).await);
    assert!(cluster.payloads("reprieve.tier.orders.300ms.run").is_empty());
}

#[tokio::test]
async fn a_message_that_belongs_elsewhere_is_brought_there_before_its_copy_in_the_tier_is_settled() {
    let (cluster, plan) = prepared().await;
    cluster.create("elsewhere");
    let driver = driver(&cluster);
    let mut consumer = driver.consume(&plan, 10).await.unwrap();
    driver.publish(&through(300, "elsewhere"), &Message::new("m").with_id("m-1")).await.unwrap();
    cluster.fail(On::Produce, u32::MAX, Fault::plain(503));
    cluster.until("it is tried again", |cluster| cluster.seen(On::Produce).len() >= 3).await;
    assert!(cluster.seen(On::Ack).is_empty() && cluster.payloads("reprieve.tier.orders.300ms.run").len() == 1);
    cluster.heal();
    cluster.fail(On::Ack, 1, Fault::plain(502));
    cluster.until("it is there", |cluster| !cluster.payloads("elsewhere").is_empty()).await;
    cluster.until("it is settled", |cluster| cluster.payloads("reprieve.tier.orders.300ms.run").is_empty()).await;
    assert!(nothing_comes(&mut *consumer, Duration::from_millis(100)).await);
    let mut there = driver.consume(&Plan::new("other", "elsewhere"), 1).await.unwrap();
    let delivery = next(&mut *there).await;
    assert_eq!(delivery.message.id.as_deref(), Some("m-1"));
    assert_eq!(cluster.payloads("elsewhere").len(), 1);
}

#[tokio::test]
async fn a_tier_that_has_left_the_configuration_is_named_and_drained() {
    let (cluster, plan) = prepared().await;
    let driver = driver(&cluster);
    driver.publish(&through(300, "orders"), &Message::new("left behind")).await.unwrap();
    let now = Plan { tiers: vec![tier(60_000)], ..plan };
    let remarks = driver.prepare(&now).await.unwrap().remarks;
    assert!(
        remarks.iter().any(|remark| remark.contains("tier 300ms is not in the configuration any more")),
        "{remarks:?}"
    );
    let mut consumer = driver.consume(&now, 10).await.unwrap();
    assert_eq!(next(&mut *consumer).await.message.body.as_deref(), Some(&b"left behind"[..]));
}

#[tokio::test]
async fn the_tiers_of_a_route_whose_name_begins_the_same_are_its_own() {
    let (cluster, plan) = prepared().await;
    let longer = Plan { tiers: vec![tier(700)], ..Plan::new("orders.eu", "orders") };
    driver(&cluster).prepare(&longer).await.unwrap();
    let remarks = driver(&cluster).prepare(&plan).await.unwrap().remarks;
    assert_eq!(remarks, [""; 0]);
}

#[tokio::test]
async fn a_message_that_is_due_comes_though_nothing_comes_from_the_source() {
    let (cluster, plan) = prepared().await;
    let driver = driver(&cluster);
    let mut consumer = driver.consume(&plan, 1).await.unwrap();
    assert!(nothing_comes(&mut *consumer, Duration::from_millis(100)).await);
    driver.publish(&through(300, "orders"), &Message::new("due")).await.unwrap();
    let begin = Instant::now();
    next(&mut *consumer).await;
    assert!(begin.elapsed() < Duration::from_secs(3), "{:?}", begin.elapsed());
}
