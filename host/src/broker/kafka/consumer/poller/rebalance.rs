//! Partitions come and go (rule 13): each assignment has a state of its own.

use std::sync::Arc;
use std::time::Duration;

use rdkafka::consumer::Consumer as _;
use rdkafka::{Offset, TopicPartitionList};
use tracing::{info, warn};

use super::Poller;
use super::reading::Reading;
use crate::broker::kafka::consumer::TopicPlan;
use crate::broker::kafka::consumer::context::{assign, unassign};
use crate::broker::kafka::consumer::partition::Partition;
use crate::broker::kafka::consumer::progress::Start;
use crate::broker::kafka::consumer::remembered::Place;
use crate::broker::kafka::consumer::window::Window;

/// How long the broker may take to say what is committed. The group waits meanwhile.
const COMMITTED: Duration = Duration::from_secs(10);

/// What the last commit of partitions that go may take. The group waits meanwhile.
const LAST_COMMIT: Duration = Duration::from_secs(3);

impl Poller {
    /// Begins to read partitions where the last owner ended.
    pub(super) fn assigned(&mut self, partitions: TopicPartitionList) -> Result<(), String> {
        let count = partitions.count();
        let partitions = match count {
            0 => partitions,
            _ => self
                .consumer
                .committed_offsets(partitions, COMMITTED)
                .map_err(|error| format!("cannot read how far group '{}' has come: {error}", self.plans.group))?,
        };
        for mut one in partitions.elements() {
            let (topic, number) = (one.topic().to_owned(), one.partition());
            one.error()
                .map_err(|error| format!("cannot read how far {topic}, partition {number}, has come: {error}"))?;
            let Some(plan) = self.plans.topics.iter().find(|plan| *plan.topic == *topic) else {
                return Err(format!("topic {topic} was assigned, and is not consumed"));
            };
            let start = match one.offset() {
                Offset::Offset(position) => Start::read(position, one.metadata()),
                _ => {
                    let (begin, start) = self.begin(plan, number)?;
                    one.set_offset(begin).map_err(|error| error.to_string())?;
                    start
                }
            };
            let place =
                Place { group: Arc::clone(&self.plans.group), topic: Arc::clone(&plan.topic), partition: number };
            let key = (Arc::clone(&place.topic), number);
            // Where the library did not tell of its end.
            if let Some(before) = self.readings.remove(&key) {
                self.forget(before);
            }
            let past = self.shared.remembered.come_back(&place, start.position);
            if let (Some(position), Some(below)) = (start.position, start.suspect_below) {
                warn!(
                    topic,
                    partition = number,
                    from = position,
                    below,
                    "a consumer of it did not end in order: records that were in work run alone, and of those that may have been each attempt is committed before it begins"
                );
            }
            let (window, lost) = (Window::new(start, self.limits), self.shared.lost.child_token());
            let partition = Arc::new(Partition::new(place, plan.delay, window, lost));
            // Before it is assigned, so that no record takes another way.
            let queue = self.consumer.split_partition_queue(&topic, number);
            let queue = queue.ok_or_else(|| format!("{topic}, partition {number}, has no queue"))?;
            let reading = Reading::new(partition, past, queue, &self.shared, Arc::clone(&self.plans.source));
            self.readings.insert(key, reading);
        }
        assign(&self.consumer, &partitions)
            .map_err(|error| format!("cannot read the partitions of the group: {error}"))?;
        if count > 0 {
            info!(source = %self.plans.source, partitions = count, of = self.readings.len(), "partitions were assigned");
        }
        Ok(())
    }

    /// Where a partition begins that the group has committed nothing of.
    fn begin(&self, plan: &TopicPlan, number: i32) -> Result<(Offset, Start), String> {
        if plan.begin != Offset::End {
            return Ok((plan.begin, Start::default()));
        }
        // A number, which is committed: what comes while nobody has the partition is behind it, and not passed over as the end of
        // then would do.
        let (_, end) = self
            .consumer
            .fetch_watermarks(&plan.topic, number, COMMITTED)
            .map_err(|error| format!("cannot read where {}, partition {number}, ends: {error}", plan.topic))?;
        Ok((Offset::Offset(end), Start { position: Some(end), ..Start::default() }))
    }

    /// Partitions go to others. What was out goes back untouched; what is decided is told to the broker before they go.
    pub(super) fn revoked(&mut self, partitions: &TopicPartitionList, lost: bool) -> Result<(), String> {
        let gone: Vec<_> = partitions
            .elements()
            .iter()
            .filter_map(|one| self.readings.remove(&(Arc::from(one.topic()), one.partition())))
            .collect();
        let partitions_gone: Vec<_> = gone.iter().map(|reading| Arc::clone(&reading.partition)).collect();
        // First, so that the commit has all that was settled in time.
        partitions_gone.iter().for_each(|partition| partition.end());
        if lost {
            // Another has them already, and must not be told anything of what was here.
            warn!(source = %self.plans.source, partitions = gone.len(), "partitions were lost");
        } else {
            self.commit_last(&partitions_gone, LAST_COMMIT);
        }
        let count = gone.len();
        gone.into_iter().for_each(|reading| self.forget(reading));
        unassign(&self.consumer, partitions).map_err(|error| format!("cannot let go of partitions: {error}"))?;
        if count > 0 && !lost {
            info!(source = %self.plans.source, partitions = count, of = self.readings.len(), "partitions were handed on");
        }
        Ok(())
    }

    /// Ends an assignment. What was decided though no confirmed commit says so is remembered, also what an assignment before it
    /// had decided and was not read again.
    pub(super) fn forget(&self, Reading { partition, past, .. }: Reading) {
        partition.end();
        let (seen_below, decided) = partition.with_last(|window| window.leave());
        for (seen_below, decided) in [(past.seen_below, past.decided), (seen_below, decided)] {
            if seen_below.is_some() || !decided.is_empty() {
                self.shared.remembered.leave(&partition.place, seen_below, decided);
            }
        }
    }
}
