//! Tiers that left the configuration, perhaps with records on them.

use super::Preparing;
use crate::broker::BrokerError;
use crate::broker::kafka::cluster::Cluster;
use crate::broker::kafka::{group, tiers};
use crate::topic::TIER_QUEUE_PREFIX;

impl Preparing<'_> {
    /// Names tiers of this route that are not configured any more while records may wait on them.
    pub(super) async fn forgotten_tiers(&mut self) -> Result<(), BrokerError> {
        let prefix = format!("{TIER_QUEUE_PREFIX}{}.", self.plan.route);
        let configured: Vec<String> = self.plan.tiers.iter().map(|tier| tiers::topic(&self.plan.route, tier)).collect();
        let forgotten: Vec<(String, i32)> = self
            .there
            .iter()
            // What follows is a delay: a tier of the route `a.b` is none of the route `a`.
            .filter(|(name, _)| name.strip_prefix(&prefix).is_some_and(|tier| humantime::parse_duration(tier).is_ok()))
            .filter(|(name, _)| !configured.contains(name))
            .map(|(name, found)| (name.clone(), found.partitions))
            .collect();
        for (topic, partitions) in forgotten {
            let waiting = waiting(self.cluster, &topic, partitions).await?;
            if waiting > 0 {
                let tier = topic.strip_prefix(&prefix).unwrap_or(&topic).to_owned();
                self.findings.remarks.push(format!(
                    "topic '{topic}' is of a tier that route '{}' does not have any more, and up to {waiting} records wait there that \
                     nobody brings back: add the tier \"{tier}\" again until it is empty (group '{}')",
                    self.plan.route,
                    group::of_route(self.plan)
                ));
            }
        }
        Ok(())
    }
}

/// How many records a cluster's group has not passed on a topic, at most.
async fn waiting(cluster: &Cluster, topic: &str, partitions: i32) -> Result<i64, BrokerError> {
    let bounds = cluster.bounds(topic, partitions).await?;
    let committed = cluster.committed(topic, partitions).await?;
    Ok(bounds.iter().zip(committed).map(|((low, end), committed)| end - committed.offset.unwrap_or(0).max(*low)).sum())
}
