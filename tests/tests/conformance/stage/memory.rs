//! The broker in this process.

use std::sync::Arc;

use async_trait::async_trait;
use reprieve::broker::Broker;
use reprieve::broker::memory::MemoryBroker;
use reprieve::message::Message;

use super::Place;

#[derive(Default)]
pub(super) struct Memory(MemoryBroker);

#[async_trait]
impl Place for Memory {
    fn driver(&self) -> Arc<dyn Broker> {
        Arc::new(self.0.clone())
    }

    async fn make(&self, topic: &str, _partitions: i32) {
        // Queues are made by publishing to them.
        self.0.publish_to(topic, Message::default()).expect("room");
        assert_eq!(self.0.drain(topic).len(), 1);
    }

    fn name(&self, role: &str) -> String {
        role.to_owned()
    }

    fn remove_tier_later(&self, _route: &str, _tier: &str) {}

    async fn cut(&self) {
        self.0.disconnect();
    }

    async fn take_away(&self, topic: &str) {
        self.0.faults().fail(topic, u32::MAX);
    }

    async fn bring_back(&self, _topic: &str) {
        self.0.faults().clear();
    }

    fn bound(&self, topic: &str, bytes: usize) {
        self.0.faults().refuse_larger_than(topic, bytes);
    }
}
