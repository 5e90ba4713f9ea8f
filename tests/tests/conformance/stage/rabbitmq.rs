//! The RabbitMQ of the tests. Drivers come through a proxy.

use std::sync::Arc;

use async_trait::async_trait;
use reprieve::broker::Broker;
use reprieve::broker::rabbitmq::{RabbitMq, RabbitMqSettings};
use reprieve_tests::rabbitmq::{Proxy, Sandbox, url};

use super::Place;

pub(super) struct Rabbit {
    sandbox: Sandbox,
    proxy: Proxy,
}

impl Rabbit {
    pub(super) async fn new() -> Self {
        Self { sandbox: Sandbox::new().await, proxy: Proxy::start().await }
    }

    /// One that is not cut off.
    pub(super) fn onlooker(&self) -> Arc<dyn Broker> {
        driver(url())
    }
}

#[async_trait]
impl Place for Rabbit {
    fn driver(&self) -> Arc<dyn Broker> {
        driver(self.proxy.url())
    }

    async fn make(&self, topic: &str, _partitions: i32) {
        self.sandbox.declare(topic, &[]).await.expect("a new queue");
    }

    fn name(&self, role: &str) -> String {
        self.sandbox.name(role)
    }

    fn remove_tier_later(&self, _route: &str, tier: &str) {
        self.sandbox.delete_later(&format!("reprieve.tier.{tier}"));
    }

    async fn cut(&self) {
        self.proxy.cut();
    }

    async fn take_away(&self, topic: &str) {
        self.sandbox.delete(topic).await;
    }

    async fn bring_back(&self, topic: &str) {
        self.make(topic, 1).await;
    }
}

fn driver(url: String) -> Arc<dyn Broker> {
    Arc::new(RabbitMq::new(&RabbitMqSettings::new("main", url)).expect("usable settings"))
}
