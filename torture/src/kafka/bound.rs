//! How many duplicates faults explain. A host that loses a partition leaves to the next one all that it has begun there and that
//! is not below the group's commit: the records in work, and those that ended behind one that is, or since the last commit.

use std::iter::successors;

use super::REPERTOIRE;
use super::log::Log;
use crate::broker::Course;

/// A fault can take a partition from a host twice: when somebody leaves the group, and when he comes back.
const TIMES: usize = 2;
/// As often as commits are looked at.
const STEP: f64 = 0.5;

/// The sum over all faults that repeat, each with the most that was begun and not committed at one moment of it.
pub(super) fn of(course: &Course<'_>, log: &Log) -> usize {
    let hosts: Vec<Open> = (0..course.hosts).map(|host| Open::of(host, course, log)).collect();
    let repeating = course.faults.iter().filter(|fault| REPERTOIRE.repeating.contains(&fault.kind));
    let most = |begin: f64, end: f64| {
        let moments = successors(Some(begin), |at| Some(at + STEP)).take_while(|at| *at < end + STEP);
        moments.map(|at| hosts.iter().map(|host| host.at(at)).sum::<usize>()).max().unwrap_or(0)
    };
    let of = |end: Option<f64>| end.unwrap_or(course.seconds) + REPERTOIRE.aftermath;
    repeating.map(|fault| most(fault.begin, of(fault.end)) * TIMES).sum()
}

/// When a host began each message, and when the group had committed past those.
struct Open {
    begun: Vec<f64>,
    settled: Vec<f64>,
}

impl Open {
    fn of(host: usize, course: &Course<'_>, log: &Log) -> Self {
        let (mut begun, mut settled) = (Vec::new(), Vec::new());
        for (number, message) in course.messages {
            if let Some(first) = message.runs.iter().find(|run| run.host == host) {
                begun.push(first.began);
                settled.extend(log.settled(*number));
            }
        }
        begun.sort_by(f64::total_cmp);
        settled.sort_by(f64::total_cmp);
        Self { begun, settled }
    }

    fn at(&self, moment: f64) -> usize {
        let until = |moments: &[f64]| moments.partition_point(|at| *at <= moment);
        until(&self.begun).saturating_sub(until(&self.settled))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::log::Record;
    use super::super::onlooker::Offsets;
    use super::super::topics::SOURCE;
    use super::*;
    use crate::books::{Message, Run};
    use crate::faults::{Fault, Kind};

    #[test]
    fn what_was_begun_and_not_committed_counts_at_each_fault() {
        let run = |began| Run { host: 0, attempt: 1, began, ended: Some(began), answer: "success", succeeded: true };
        let messages: BTreeMap<u64, Message> = [(0, 5.0), (1, 6.0), (2, 70.0)]
            .map(|(number, began)| (number, Message { runs: vec![run(began)], ..Message::default() }))
            .into();
        let mut log = Log::default();
        for number in 0..3 {
            log.add((SOURCE, 0, number), Record { number: number.unsigned_abs(), timestamp: 0, attempts: 0 });
        }
        log.committed(10.0, &Offsets::from([((SOURCE, 0), 1)]));
        log.committed(50.0, &Offsets::from([((SOURCE, 0), 3)]));
        let bound = |kind, at| {
            let fault = Fault { kind, host: Some(1), begin: at, end: Some(at), detail: String::new() };
            of(&Course { messages: &messages, faults: &[fault], hosts: 2, seconds: 100.0 }, &log)
        };
        assert_eq!(bound(Kind::KillHost, 7.0), 2 * TIMES, "a rebalance concerns those too that were not killed");
        assert_eq!(bound(Kind::KillHost, 20.0), TIMES);
        assert_eq!(bound(Kind::HangUp, 7.0), 0);
        assert_eq!(bound(Kind::KillHost, 51.0), 0);
    }
}
