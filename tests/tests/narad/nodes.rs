//! Several nodes of one cluster.

use std::time::Duration;

use reprieve::broker::Broker as _;
use reprieve::broker::narad::{Narad, NaradSettings};
use reprieve::message::Message;
use reprieve_tests::narad::{Cluster, Fault, On, Release};

use super::{ack, next, plan, topic, within};

async fn three() -> (Cluster, Narad) {
    let cluster = Cluster::start(Release::V3_1, 3).await;
    cluster.create("orders");
    let urls = (0..3).map(|node| cluster.url_of(node)).collect();
    let driver = Narad::new(NaradSettings { urls, ..NaradSettings::new("main", "") }).unwrap();
    (cluster, driver)
}

#[tokio::test]
async fn another_node_is_asked_where_one_cannot_be_reached() {
    let (mut cluster, driver) = three().await;
    cluster.stop(0).await;
    cluster.stop(1).await;
    driver.prepare(&plan()).await.unwrap();
    driver.publish(&topic("orders"), &Message::new("m")).await.unwrap();
    let mut consumer = driver.consume(&plan(), 1).await.unwrap();
    ack(&next(&mut *consumer).await).await;
}

#[tokio::test]
async fn a_node_that_has_trouble_is_not_asked_first_again() {
    let (cluster, driver) = three().await;
    cluster.fail(On::Produce, 1, Fault::plain(503));
    assert!(driver.publish(&topic("orders"), &Message::new("m")).await.is_err());
    driver.publish(&topic("orders"), &Message::new("m")).await.unwrap();
}

#[tokio::test]
async fn a_delivery_outlives_the_node_that_it_came_from() {
    let (mut cluster, driver) = three().await;
    cluster.produce("orders", "m");
    let mut consumer = driver.consume(&plan(), 1).await.unwrap();
    let delivery = next(&mut *consumer).await;
    cluster.stop(0).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    let settled = within(async {
        loop {
            match delivery.settler.settle(reprieve::broker::Settlement::Ack).await {
                Err(reprieve::broker::SettleError::Retry(_)) => {}
                other => break other,
            }
        }
    });
    assert_eq!(settled.await, Ok(()));
    cluster.start_again(0).await;
    cluster.produce("orders", "next");
    next(&mut *consumer).await;
}
