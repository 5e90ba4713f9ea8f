//! The Narad driver against a stand-in that fails on demand. What passes here alone is not proved of a real Narad.

mod browsing;
mod consuming;
mod contract;
mod faults;
mod leases;
mod nodes;
mod payloads;
mod preparing;
mod publishing;
mod routes;
mod settling;
mod tiers;
mod tls;

use std::time::Duration;

use reprieve::broker::narad::{Narad, NaradSettings};
use reprieve::broker::{Broker as _, BrokerError, Consumer, Delivery, Plan, Settlement, Target};
use reprieve::topic::Tier;
use reprieve_tests::narad::Cluster;

fn driver(cluster: &Cluster) -> Narad {
    Narad::new(settings(cluster)).expect("usable settings")
}

fn settings(cluster: &Cluster) -> NaradSettings {
    NaradSettings::new("main", cluster.url())
}

fn plan() -> Plan {
    Plan::new("orders", "orders")
}

fn topic(name: &str) -> Target {
    Target::Topic(name.into())
}

fn tier(millis: u64) -> Tier {
    Tier { name: format!("{millis}ms"), delay: Duration::from_millis(millis) }
}

/// A cluster with the topic `orders`, whose leases last so long, and a consumer of it.
async fn orders(visibility: Duration) -> (Cluster, Box<dyn Consumer>) {
    let cluster = Cluster::one().await;
    cluster.create_with("orders", visibility, Duration::from_secs(7 * 24 * 60 * 60));
    let consumer = driver(&cluster).consume(&plan(), 10).await.expect("a consumer");
    (cluster, consumer)
}

/// The next delivery, within ten seconds.
async fn next(consumer: &mut dyn Consumer) -> Delivery {
    within(consumer.next()).await.expect("a delivery")
}

async fn next_body(consumer: &mut dyn Consumer) -> String {
    let delivery = next(consumer).await;
    String::from_utf8(delivery.message.body.clone().expect("a body").to_vec()).expect("a text")
}

/// Whether no delivery comes for a while.
async fn nothing_comes(consumer: &mut dyn Consumer, while_: Duration) -> bool {
    tokio::time::timeout(while_, consumer.next()).await.is_err()
}

async fn ack(delivery: &Delivery) {
    delivery.settler.settle(Settlement::Ack).await.expect("an ack");
}

fn unfit(error: BrokerError) -> String {
    match error {
        BrokerError::Unfit(text) => text,
        other => panic!("not unfit: {other}"),
    }
}

/// What `future` comes to, within ten seconds.
async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(10), future).await.expect("an end within ten seconds")
}
