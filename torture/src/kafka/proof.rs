//! The proof from outside: for each record below what the group has committed, the rig has seen an outcome.

use std::collections::BTreeMap;

use super::log::{Log, Place, Record};
use super::onlooker::Offsets;
use crate::books::{Message, Trouble, id};

/// More are not named.
const MOST: usize = 20;

/// All proofs of a run. A record is looked at once, at the first one after it was committed: an outcome does not go away.
#[derive(Debug, Default)]
pub(super) struct Proofs {
    made: usize,
    proved: Offsets,
    records: usize,
    lost: Vec<Lost>,
}

#[derive(Debug)]
struct Lost {
    number: Option<u64>,
    what: String,
}

impl Proofs {
    /// Adds one. The commits are those of a moment at, or before, which log and books had all that they now have.
    pub(super) fn add(&mut self, occasion: &str, committed: &Offsets, log: &Log, messages: &BTreeMap<u64, Message>) {
        self.made += 1;
        for (&(topic, partition), &end) in committed {
            let begin = self.proved.get(&(topic, partition)).copied().unwrap_or(0);
            let places = (begin..end).map(|offset| (topic, partition, offset));
            for place in places.filter(|place| !log.is_probe(*place)) {
                self.records += 1;
                let number = log.record(place).map(|record| record.number);
                if !number
                    .and_then(|number| messages.get(&number))
                    .is_some_and(|message| has_outcome(message, place, log))
                {
                    let name = number.map_or_else(|| "a record that nobody sent".to_owned(), id);
                    let offset = place.2;
                    let what = format!("{name} at {topic}/{partition}/{offset}, below the commit of {end}: {occasion}");
                    eprintln!("torture: LOST: {what}");
                    self.lost.push(Lost { number, what });
                }
            }
            self.proved.insert((topic, partition), begin.max(end));
        }
    }

    pub(super) fn rows(&self) -> Vec<(&'static str, usize, String)> {
        vec![
            ("proofs at kills, ends, restarts", self.made, format!("for {} records below commits", self.records)),
            ("LOST below a commit", self.lost.len(), String::new()),
        ]
    }

    pub(super) fn failures(&self) -> Vec<String> {
        let named = self.lost.iter().take(MOST).map(|lost| format!("LOST: no outcome is known of {}", lost.what));
        let more = (self.lost.len() > MOST).then(|| format!("LOST: and {} more", self.lost.len() - MOST));
        named.chain(more).collect()
    }

    pub(super) fn troubles(&self) -> impl Iterator<Item = Trouble> {
        let numbers = self.lost.iter().filter_map(|lost| lost.number);
        numbers.map(|number| Trouble { number, what: "the group committed past it while it had no outcome" })
    }
}

/// The handler answered with success, it is a dead letter, a policy may have dropped it, or a later copy of it is on a topic:
/// that one has to have an outcome in its turn before the group commits past it.
fn has_outcome(message: &Message, place: Place, log: &Log) -> bool {
    let own = log.record(place).map(|record| order(record, place));
    let is_later = |copy: &Place| log.record(*copy).map(|record| order(record, *copy)) > own;
    message.has_outcome() || log.record(place).is_some_and(|record| log.copies(record.number).iter().any(is_later))
}

/// Copies come after what they are copies of. Between two of the same millisecond it does not matter which is the later one.
fn order(record: &Record, place: Place) -> (i64, u32, Place) {
    (record.timestamp, record.attempts, place)
}

#[cfg(test)]
mod tests {
    use super::super::topics::{COMMITTED, SOURCE};
    use super::*;
    use crate::books::Run;
    use crate::script::UNWANTED;

    const TIER: &str = COMMITTED[1];

    fn message(answers: &[&'static str]) -> Message {
        let run = |answer: &&'static str| Run {
            host: 0,
            attempt: 1,
            began: 1.0,
            ended: Some(2.0),
            answer,
            succeeded: *answer == "success",
        };
        Message { runs: answers.iter().map(run).collect(), ..Message::default() }
    }

    fn log(places: &[(Place, i64)]) -> Log {
        let mut log = Log::default();
        for (place, timestamp) in places {
            log.add(*place, Record { number: 7, timestamp: *timestamp, attempts: 0 });
        }
        log
    }

    fn lost(message: Message, log: &Log, committed: Offsets) -> usize {
        let mut proofs = Proofs::default();
        proofs.add("host 0 killed", &committed, log, &BTreeMap::from([(7, message)]));
        assert_eq!(proofs.failures().len(), proofs.lost.len());
        proofs.lost.len()
    }

    #[test]
    fn a_record_below_the_commit_needs_an_outcome_that_was_seen() {
        let (source, below) = (log(&[((SOURCE, 0, 0), 1)]), || Offsets::from([((SOURCE, 0), 1)]));
        assert_eq!(lost(message(&[]), &source, below()), 1);
        assert_eq!(lost(message(&["broken"]), &source, below()), 1);
        assert_eq!(lost(message(&["broken", "success"]), &source, below()), 0);
        assert_eq!(lost(message(&[UNWANTED]), &source, below()), 0);
        assert_eq!(lost(message(&[]), &source, Offsets::from([((SOURCE, 0), 0)])), 0, "it is not below");
    }

    #[test]
    fn a_later_copy_speaks_for_an_earlier_one_and_not_the_other_way_round() {
        let delayed = log(&[((SOURCE, 0, 0), 1), ((TIER, 0, 0), 5)]);
        assert_eq!(lost(message(&["broken"]), &delayed, Offsets::from([((SOURCE, 0), 1)])), 0);
        assert_eq!(lost(message(&["broken"]), &delayed, Offsets::from([((SOURCE, 0), 1), ((TIER, 0), 1)])), 1);
    }

    #[test]
    fn what_was_committed_and_never_read_is_lost() {
        assert_eq!(lost(message(&["success"]), &log(&[]), Offsets::from([((SOURCE, 0), 1)])), 1);
    }
}
