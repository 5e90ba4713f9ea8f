//! Asking for what is known of queues, and keeping account of what nobody could tell.

use crate::broker::BrokerError;
use crate::broker::rabbitmq::declaration::learn;
use crate::broker::rabbitmq::management::{Management, Reached};
use crate::broker::rabbitmq::queue_facts::QueueFacts;
use crate::broker::rabbitmq::topology::Topology;

/// The questions of one preparation.
pub(super) struct Inquiry<'t> {
    pub(super) topology: &'t Topology<'t>,
    management: Option<&'t Management>,
    /// Why the management API is not asked any more.
    management_failed: Option<String>,
    /// The first number of the broker's version, where it is known.
    pub(super) major_version: Option<u64>,
    /// Queues of which no policies were seen.
    policies_unseen: Vec<String>,
}

impl<'t> Inquiry<'t> {
    pub(super) async fn begin(topology: &'t Topology<'t>, management: Option<&'t Management>) -> Self {
        let mut inquiry =
            Self { topology, management, management_failed: None, major_version: None, policies_unseen: Vec::new() };
        if let Some(management) = management {
            match management.version().await {
                Ok(version) => inquiry.major_version = version.split('.').next().and_then(|major| major.parse().ok()),
                Err(why) => inquiry.management_failed = Some(why),
            }
        }
        inquiry
    }

    /// What is known of an existing queue; the inner error says why nothing is.
    pub(super) async fn queue(&mut self, queue: &str) -> Result<Result<QueueFacts, String>, BrokerError> {
        if let Some(management) = self.reachable() {
            match management.queue(self.topology.address.virtual_host(), queue).await {
                Ok(facts) => {
                    if !facts.policies_seen {
                        self.policies_unseen.push(format!("'{queue}'"));
                    }
                    return Ok(Ok(facts));
                }
                Err(why) => self.management_failed = Some(why),
            }
        }
        self.policies_unseen.push(format!("'{queue}'"));
        Ok(learn(self.topology, queue).await?.map(|declaration| declaration.facts()))
    }

    /// Which queues an exchange leads to. The error says why that cannot be told.
    pub(super) async fn reached(&mut self, exchange: &str, routing_key: &str) -> Result<Reached, String> {
        let Some(management) = self.reachable() else { return Err(self.why_not()) };
        let reached = management.reached(self.topology.address.virtual_host(), exchange, routing_key).await;
        reached.inspect_err(|why| self.management_failed = Some(why.clone()))
    }

    /// What to say of policies that were not seen.
    pub(super) fn not_checked(self) -> Option<String> {
        if self.policies_unseen.is_empty() {
            return None;
        }
        Some(format!(
            "not checked: whether policies of the broker limit, expire or throw away what is in {} ({})",
            self.policies_unseen.join(", "),
            self.why_not()
        ))
    }

    fn reachable(&self) -> Option<&'t Management> {
        self.management.filter(|_| self.management_failed.is_none())
    }

    /// Why policies are not seen, or what would show them.
    pub(super) fn why_not(&self) -> String {
        let broker = &self.topology.address.name;
        match (&self.management_failed, self.management) {
            (Some(why), _) => format!("{why}; put `management` of [brokers.{broker}] right"),
            (None, Some(management)) => {
                format!("{management} hears nothing from them: switch its statistics on")
            }
            (None, None) => format!("give [brokers.{broker}] a `management` URL of the management plugin"),
        }
    }
}
