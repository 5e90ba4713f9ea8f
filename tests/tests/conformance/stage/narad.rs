//! A stand-in for Narad, of the test's own.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use reprieve::broker::Broker;
use reprieve::broker::narad::{Narad as Driver, NaradSettings};
use reprieve_tests::narad::Cluster;

use super::Place;

/// Renewed after a third of it, which is when a lease is found to be lost.
const LEASE: Duration = Duration::from_secs(3);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

pub(super) struct Narad(Cluster);

impl Narad {
    pub(super) async fn new() -> Self {
        Self(Cluster::one().await)
    }
}

#[async_trait]
impl Place for Narad {
    fn driver(&self) -> Arc<dyn Broker> {
        Arc::new(Driver::new(NaradSettings::new("main", self.0.url())).expect("usable settings"))
    }

    async fn make(&self, topic: &str, partitions: i32) {
        self.0.create_in(topic, usize::try_from(partitions).expect("some partitions"), LEASE, DAY);
    }

    fn name(&self, role: &str) -> String {
        role.to_owned()
    }

    fn remove_tier_later(&self, _route: &str, _tier: &str) {}

    /// As when the node has crashed: leases are in its memory only.
    async fn cut(&self) {
        self.0.forget_leases();
    }

    async fn take_away(&self, topic: &str) {
        self.0.delete(topic);
    }

    async fn bring_back(&self, topic: &str) {
        self.make(topic, 1).await;
    }
}
