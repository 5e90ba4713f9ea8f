//! What a group has committed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer as _, ConsumerContext, Rebalance};
use rdkafka::{ClientContext, Offset, TopicPartitionList};

use super::{DEADLINE, Sandbox};

impl Sandbox {
    /// By partition: the offset that a group has committed, which is that of the next record, and the text beside it. A
    /// partition without a commit is missing.
    ///
    /// # Panics
    /// Where there is no such topic.
    pub async fn committed(&self, group: &str, topic: &str) -> BTreeMap<i32, (i64, String)> {
        let partitions = self.partitions(topic).await.unwrap_or_else(|| panic!("there is no topic {topic}"));
        let topic = topic.to_owned();
        self.ask_as(group, move |client| {
            let mut wanted = TopicPartitionList::new();
            wanted.add_partition_range(&topic, 0, i32::try_from(partitions).expect("few partitions") - 1);
            let committed = client.committed_offsets(wanted, DEADLINE).expect("an answer");
            let commits = committed.elements().into_iter().filter_map(|place| match place.offset() {
                Offset::Offset(offset) => Some((place.partition(), (offset, place.metadata().to_owned()))),
                _ => None,
            });
            commits.collect()
        })
        .await
    }

    /// Commits for a group without members, by partition: the offset of the next record.
    ///
    /// # Panics
    /// Where the broker does not take it.
    pub async fn commit(&self, group: &str, topic: &str, offsets: &[(i32, i64)]) {
        let mut committed = TopicPartitionList::new();
        for (partition, offset) in offsets {
            committed.add_partition_offset(topic, *partition, Offset::Offset(*offset)).expect("an offset");
        }
        self.ask_as(group, move |client| client.commit(&committed, CommitMode::Sync).expect("a commit")).await;
    }

    /// Waits until the commits of a group on all partitions of a topic together are this many records.
    pub async fn wait_for_commits(&self, group: &str, topic: &str, records: i64) {
        let begun = Instant::now();
        loop {
            let committed = self.committed(group, topic).await;
            if committed.values().map(|(offset, _)| offset).sum::<i64>() == records {
                return;
            }
            assert!(begun.elapsed() < DEADLINE, "group {group} on {topic} has committed {committed:?}, not {records}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// The offset behind the last record of each partition.
    ///
    /// # Panics
    /// Where there is no such topic.
    pub async fn ends(&self, topic: &str) -> Vec<i64> {
        let partitions = self.partitions(topic).await.unwrap_or_else(|| panic!("there is no topic {topic}"));
        let topic = topic.to_owned();
        self.ask(move |client| {
            let partitions = 0..i32::try_from(partitions).expect("few partitions");
            let end = |partition| client.fetch_watermarks(&topic, partition, DEADLINE).expect("an answer").1;
            partitions.map(end).collect()
        })
        .await
    }

    /// Joins a group for a moment, so that its members lose the partitions that they have, as long as they share them out
    /// anew whenever somebody comes (`range`, `roundrobin`).
    ///
    /// # Panics
    /// Where it is not let in.
    pub async fn disturb(&self, group: &str, topic: &str) {
        let topic = topic.to_owned();
        let mut config = super::sandbox::config(&self.server);
        config.set("group.id", group).set("partition.assignment.strategy", "range");
        config.set("session.timeout.ms", "6000").set("heartbeat.interval.ms", "200");
        // It leaves no trace: what it is handed meanwhile is none of its business.
        config.set("enable.auto.commit", "false");
        let disturbed = tokio::task::spawn_blocking(move || {
            let joined = Arc::<AtomicBool>::default();
            let intruder: BaseConsumer<Intruder> =
                config.create_with_context(Intruder(Arc::clone(&joined))).expect("a consumer");
            intruder.subscribe(&[&topic]).expect("a subscription");
            let begun = Instant::now();
            while !joined.load(Ordering::Acquire) {
                assert!(begun.elapsed() < DEADLINE, "the group does not let anybody in");
                // Only for what is behind it: there is nothing to be read.
                drop(intruder.poll(Duration::from_millis(20)));
            }
        });
        disturbed.await.expect("a group that lets somebody in");
    }

    /// How many members a group has now, by what the broker says.
    pub async fn members(&self, group: &str) -> usize {
        let group = group.to_owned();
        self.ask(move |client| {
            let groups = client.fetch_group_list(Some(&group), DEADLINE).expect("an answer");
            groups.groups().iter().map(|group| group.members().len()).sum()
        })
        .await
    }
}

/// Notes that it was told of its share, empty as it may be: the others have lost theirs by then.
struct Intruder(Arc<AtomicBool>);

impl ClientContext for Intruder {}

impl ConsumerContext for Intruder {
    fn post_rebalance(&self, _: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        if matches!(rebalance, Rebalance::Assign(_)) {
            self.0.store(true, Ordering::Release);
        }
    }
}
