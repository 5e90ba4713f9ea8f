//! The Kafka of the tests.

use std::sync::Arc;

use async_trait::async_trait;
use reprieve::broker::Broker;
use reprieve::broker::kafka::{Kafka as Driver, KafkaSettings};
use reprieve_tests::kafka::{Sandbox, address};

use super::Place;

#[derive(Default)]
pub(super) struct Kafka(Sandbox);

#[async_trait]
impl Place for Kafka {
    fn driver(&self) -> Arc<dyn Broker> {
        let mut settings = KafkaSettings::new("main", address());
        // Whoever joins is soon let in, and a newcomer takes from all who are there what they have: see `cut`.
        let client = [
            ("session.timeout.ms", "6000"),
            ("heartbeat.interval.ms", "200"),
            ("partition.assignment.strategy", "range"),
            ("fetch.wait.max.ms", "10"),
        ];
        settings.client.extend(client.map(|(name, value)| (name.to_owned(), value.to_owned())));
        Arc::new(Driver::new(&settings).expect("usable settings"))
    }

    async fn make(&self, topic: &str, partitions: i32) {
        self.0.create(topic, partitions, &[]).await;
    }

    fn name(&self, role: &str) -> String {
        self.0.name(role)
    }

    fn remove_tier_later(&self, route: &str, tier: &str) {
        self.0.delete_later(&format!("reprieve.tier.{route}.{tier}"));
    }

    async fn cut(&self) {
        self.0.disturb(&self.name("group"), &self.name("source")).await;
    }

    async fn take_away(&self, topic: &str) {
        self.0.delete(topic).await;
    }

    async fn bring_back(&self, topic: &str) {
        self.make(topic, 1).await;
    }
}
