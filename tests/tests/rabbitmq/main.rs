//! What the RabbitMQ driver alone has, against a real broker. What every driver must do is in the tests `conformance`.

mod batches;
mod connection;
mod consuming;
mod deep_headers;
mod management;
mod ordering;
mod orderly_end;
mod preparing;
mod publishing;
mod routes;
mod tiers;
mod tls;
mod trouble;

use std::time::Duration;

use reprieve::broker::rabbitmq::{RabbitMq, RabbitMqSettings};
use reprieve::broker::{Consumer, Delivery, Plan, Target};
use reprieve_tests::rabbitmq::url;

/// A driver with the default settings on the tests' broker.
fn driver() -> RabbitMq {
    RabbitMq::new(&settings()).expect("usable settings")
}

fn settings() -> RabbitMqSettings {
    RabbitMqSettings::new("main", url())
}

/// The plan of a route that only consumes.
fn plan(source: &str) -> Plan {
    Plan::new("orders", source)
}

fn queue(name: &str) -> Target {
    Target::Topic(name.into())
}

/// The next delivery, within ten seconds.
async fn next(consumer: &mut dyn Consumer) -> Delivery {
    within(consumer.next()).await.expect("a delivery")
}

/// What `future` comes to, within ten seconds.
async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(10), future).await.expect("an end within ten seconds")
}
