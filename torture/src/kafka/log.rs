//! Every record of source and tiers, how far each topic was read, and how far the group had committed when.

use std::collections::{BTreeMap, BTreeSet};

use super::onlooker::Offsets;
use super::topics::SOURCE;

/// Topic, partition and offset.
pub(super) type Place = (&'static str, i32, i64);

/// A message, or a copy of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record {
    pub(super) number: u64,
    /// By the broker's clock, in milliseconds since 1970.
    pub(super) timestamp: i64,
    /// The attempts before this copy.
    pub(super) attempts: u32,
}

#[derive(Debug, Default)]
pub(super) struct Log {
    records: BTreeMap<Place, Record>,
    copies: BTreeMap<u64, Vec<Place>>,
    /// By which hosts learn the broker's time.
    probes: BTreeSet<Place>,
    /// What is read next.
    positions: Offsets,
    /// The moments of a run at which commits were seen, with the offsets.
    commits: BTreeMap<(&'static str, i32), Vec<(f64, i64)>>,
    complaints: Vec<String>,
}

impl Log {
    /// The topic is going to be read from its begin.
    pub(super) fn begin(&mut self, topic: &str) {
        self.positions.retain(|(read, _), _| *read != topic);
    }

    /// What is read next of a partition; `None` where nothing of it was read.
    pub(super) fn position(&self, partition: (&'static str, i32)) -> Option<i64> {
        self.positions.get(&partition).copied()
    }

    /// Whether the record at this place was not read before.
    pub(super) fn is_next(&self, (topic, partition, offset): Place) -> bool {
        offset >= self.positions.get(&(topic, partition)).copied().unwrap_or(0)
    }

    /// The record at this place was read.
    pub(super) fn has_come_to(&mut self, (topic, partition, offset): Place) {
        self.positions.insert((topic, partition), offset + 1);
    }

    /// A record of source or tiers.
    pub(super) fn add(&mut self, place: Place, record: Record) {
        if self.records.insert(place, record).is_none() {
            self.copies.entry(record.number).or_default().push(place);
        }
    }

    /// A record that is no message.
    pub(super) fn add_probe(&mut self, place: Place) {
        self.probes.insert(place);
    }

    pub(super) fn is_probe(&self, place: Place) -> bool {
        self.probes.contains(&place)
    }

    /// Whether all was read that was on a topic when these were its ends.
    pub(super) fn has_read(&self, ends: &Offsets) -> bool {
        ends.iter().all(|(partition, end)| self.positions.get(partition).copied().unwrap_or(0) >= *end)
    }

    /// These are the group's commits at a moment.
    pub(super) fn committed(&mut self, now: f64, committed: &Offsets) {
        for (&(topic, partition), &offset) in committed {
            let seen = self.commits.entry((topic, partition)).or_default();
            let before = seen.last().map_or(0, |(_, before)| *before);
            if offset < before {
                self.complaints.push(format!(
                    "the commit on {topic}/{partition} went back from {before} to {offset} at {now:.1} s"
                ));
            }
            if offset > before {
                seen.push((now, offset));
            }
        }
    }

    /// What the group did that it must not.
    pub(super) fn complaints(&self) -> &[String] {
        &self.complaints
    }

    pub(super) fn record(&self, place: Place) -> Option<&Record> {
        self.records.get(&place)
    }

    /// The places at which a message was, in the order in which they were read.
    pub(super) fn copies(&self, number: u64) -> &[Place] {
        self.copies.get(&number).map_or(&[], Vec::as_slice)
    }

    /// The partition of the source that a message was sent to.
    pub(super) fn partition(&self, number: u64) -> Option<i32> {
        self.copies(number).iter().find(|(topic, ..)| *topic == SOURCE).map(|(_, partition, _)| *partition)
    }

    /// When every copy of a message had been seen to be below the commits.
    pub(super) fn settled(&self, number: u64) -> Option<f64> {
        let settled = |&(topic, partition, offset): &Place| {
            let seen = self.commits.get(&(topic, partition))?;
            // Offsets rise, or there is a complaint.
            seen.get(seen.partition_point(|(_, committed)| *committed <= offset)).map(|(at, _)| *at)
        };
        self.copies(number).iter().map(settled).try_fold(0.0, |latest, at| at.map(|at| f64::max(latest, at)))
    }

    /// The messages that have a copy at or behind these commits, with its topic.
    pub(super) fn left_over(&self, committed: &Offsets) -> impl Iterator<Item = (u64, &'static str)> {
        let is_left =
            |(topic, partition, offset): &Place| *offset >= committed.get(&(*topic, *partition)).copied().unwrap_or(0);
        self.records
            .iter()
            .filter(move |(place, _)| is_left(place))
            .map(|((topic, ..), record)| (record.number, *topic))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIER: &str = super::super::topics::COMMITTED[1];

    fn log(places: &[Place]) -> Log {
        let mut log = Log::default();
        for place in places {
            log.add(*place, Record { number: 7, timestamp: 0, attempts: 0 });
            log.has_come_to(*place);
        }
        log
    }

    #[test]
    fn a_message_is_settled_once_all_of_its_copies_are_below_a_commit() {
        let mut log = log(&[(SOURCE, 1, 4), (TIER, 0, 2)]);
        log.committed(1.0, &Offsets::from([((SOURCE, 1), 4), ((TIER, 0), 2)]));
        log.committed(2.0, &Offsets::from([((SOURCE, 1), 5), ((TIER, 0), 2)]));
        assert_eq!(log.settled(7), None);
        log.committed(3.0, &Offsets::from([((SOURCE, 1), 9), ((TIER, 0), 3)]));
        assert_eq!(log.settled(7), Some(3.0));
        assert!(log.complaints().is_empty());
    }

    #[test]
    fn a_commit_that_goes_back_is_noticed() {
        let mut log = log(&[]);
        log.committed(1.0, &Offsets::from([((SOURCE, 1), 4)]));
        log.committed(2.0, &Offsets::from([((SOURCE, 1), 3)]));
        assert_eq!(log.complaints().len(), 1);
    }

    #[test]
    fn a_topic_that_was_made_again_is_to_be_read_again() {
        let mut log = log(&[(SOURCE, 0, 0), (SOURCE, 0, 1)]);
        let ends = Offsets::from([((SOURCE, 0), 2)]);
        assert!(log.has_read(&ends) && !log.is_next((SOURCE, 0, 1)));
        log.begin(SOURCE);
        assert!(!log.has_read(&ends) && log.is_next((SOURCE, 0, 0)));
    }

    #[test]
    fn what_is_not_below_a_commit_is_left_over() {
        let log = log(&[(SOURCE, 0, 0), (TIER, 0, 0)]);
        let left = |committed: Offsets| log.left_over(&committed).map(|(_, topic)| topic).collect::<Vec<_>>();
        assert_eq!(left(Offsets::from([((SOURCE, 0), 1)])), [TIER]);
        assert!(left(Offsets::from([((SOURCE, 0), 1), ((TIER, 0), 1)])).is_empty());
    }
}
