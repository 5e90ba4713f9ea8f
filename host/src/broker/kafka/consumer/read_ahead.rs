//! How much the library reads ahead, for a consumer as a whole.
//!
//! The library bounds it for each partition where each has a queue of its own: what waits there, and what is fetched beside it.

use super::{Plan, tiers};
use crate::broker::BrokerError;
use crate::broker::kafka::KafkaSettings;
use crate::broker::kafka::cluster::Cluster;

const KIB: usize = 1024;

/// What waits on all partitions together, and as much again may be fetched beside it.
const ALL: usize = 32 * KIB * KIB;

/// No partition has less than this: where there are very many, they have more than [`ALL`] together.
const LEAST: usize = 64 * KIB;

/// What waits on one partition at most.
const MOST_WAITING: usize = 2 * KIB * KIB;

/// What one question brings from one partition at most; a record that is larger comes alone.
const MOST_FETCHED: usize = KIB * KIB;

/// The partitions of the source and of its tiers.
///
/// # Errors
/// The cluster does not answer.
pub(in crate::broker::kafka) async fn partitions(cluster: &Cluster, plan: &Plan) -> Result<usize, BrokerError> {
    let mut all = 0;
    let tiers = plan.tiers.iter().map(|tier| tiers::topic(&plan.route, tier));
    for topic in std::iter::once(plan.source.clone()).chain(tiers) {
        let found = cluster.topic(&topic).await?;
        all += found.map_or(0, |found| usize::try_from(found.partitions).unwrap_or(0));
    }
    Ok(all)
}

/// The settings of a consumer that may be given so many partitions. What is written in the configuration stays.
pub(in crate::broker::kafka) fn bound_read_ahead(settings: &KafkaSettings, partitions: usize) -> KafkaSettings {
    let mut settings = settings.clone();
    let share = ALL / partitions.max(1);
    let mut default = |names: &[&str], value: usize| {
        if !names.iter().any(|name| settings.client.contains_key(*name)) {
            settings.client.insert(names[0].to_owned(), value.to_string());
        }
    };
    default(&["queued.max.messages.kbytes"], share.clamp(LEAST, MOST_WAITING) / KIB);
    default(&["fetch.message.max.bytes", "max.partition.fetch.bytes"], share.clamp(LEAST, MOST_FETCHED));
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In bytes: what waits, and what is fetched beside it, of each partition.
    fn bounds(partitions: usize) -> (usize, usize) {
        let bounded = bound_read_ahead(&KafkaSettings::new("main", "127.0.0.1:9"), partitions);
        let read = |name: &str| bounded.client[name].parse::<usize>().unwrap();
        (read("queued.max.messages.kbytes") * KIB, read("fetch.message.max.bytes"))
    }

    #[test]
    fn few_partitions_read_far_ahead() {
        for partitions in [0, 1, 16] {
            assert_eq!(bounds(partitions), (2 * KIB * KIB, KIB * KIB), "{partitions}");
        }
    }

    #[test]
    fn many_partitions_take_no_more_together() {
        for partitions in [17, 32, 100, 512] {
            let (waiting, fetched) = bounds(partitions);
            assert!(partitions * (waiting + fetched) <= 64 * KIB * KIB, "{partitions}: {waiting}, {fetched}");
        }
        assert_eq!(bounds(10_000), (64 * KIB, 64 * KIB));
    }

    #[test]
    fn what_is_written_in_the_configuration_stays() {
        let mut settings = KafkaSettings::new("main", "127.0.0.1:9");
        for (name, value) in [("queued.max.messages.kbytes", "8192"), ("max.partition.fetch.bytes", "4194304")] {
            settings.client.insert(name.to_owned(), value.to_owned());
        }
        assert_eq!(bound_read_ahead(&settings, 1000).client, settings.client);
    }
}
