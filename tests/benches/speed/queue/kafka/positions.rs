//! How far the bare client may commit, and when it does.

use std::collections::{BTreeMap, VecDeque};

use rdkafka::{Offset, TopicPartitionList};

/// Records done on one partition before all positions are committed: half of the window that a route has there, which is how
/// often a busy one commits.
const BETWEEN_COMMITS: i64 = 500;

pub(super) struct Positions<'t> {
    topic: &'t str,
    partitions: BTreeMap<i32, Partition>,
}

#[derive(Default)]
struct Partition {
    /// In the order of their offsets, each with whether it is done. The first one is not.
    records: VecDeque<(i64, bool)>,
    /// Below this all is done.
    position: i64,
    committed: i64,
}

impl<'t> Positions<'t> {
    pub(super) fn new(topic: &'t str) -> Self {
        Self { topic, partitions: BTreeMap::new() }
    }

    pub(super) fn begin(&mut self, partition: i32, offset: i64) {
        self.partitions.entry(partition).or_default().records.push_back((offset, false));
    }

    /// A record is done. Gives what is to be committed now, if anything is.
    pub(super) fn end(&mut self, partition: i32, offset: i64) -> anyhow::Result<Option<TopicPartitionList>> {
        let one = self.partitions.entry(partition).or_default();
        if let Ok(index) = one.records.binary_search_by_key(&offset, |(offset, _)| *offset) {
            one.records[index].1 = true;
        }
        while let Some((offset, true)) = one.records.front() {
            one.position = offset + 1;
            one.records.pop_front();
        }
        if one.position - one.committed < BETWEEN_COMMITS {
            return Ok(None);
        }
        let mut commit = TopicPartitionList::new();
        for (number, partition) in &mut self.partitions {
            partition.committed = partition.position;
            commit.add_partition_offset(self.topic, *number, Offset::Offset(partition.position))?;
        }
        Ok(Some(commit))
    }
}
