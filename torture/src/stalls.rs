//! How long messages stood still that a host could have taken, for no reason that the rig gave.

use crate::broker::Course;
use crate::faults::Fault;

/// What was ready on the source at a moment; nothing where the broker did not say.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    pub(crate) at: f64,
    pub(crate) ready: Option<u32>,
}

/// A time in which nothing was done, though messages were ready.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Stall {
    /// Such as `host 2`, or a partition that no host took care of.
    pub(crate) of: String,
    /// When it had last done something.
    pub(crate) begin: f64,
    /// Those in which no fault concerned it: a fault is no new begin for a host that does not find back between two of them.
    pub(crate) seconds: f64,
}

/// The longest one of all hosts, any of which could have taken what was ready.
pub(crate) fn longest_of_hosts(samples: &[Sample], course: &Course<'_>) -> Option<Stall> {
    let of_host = |host| {
        let runs = course.messages.values().flat_map(|message| &message.runs).filter(|run| run.host == host);
        let mut moments: Vec<f64> = runs.flat_map(|run| [Some(run.began), run.ended]).flatten().collect();
        moments.sort_by(f64::total_cmp);
        let excuses: Vec<_> = course.faults.iter().filter(|fault| fault.concerns(host)).collect();
        of_one(&format!("host {host}"), samples, &moments, &excuses)
    };
    longest((0..course.hosts).filter_map(of_host))
}

pub(crate) fn longest(stalls: impl Iterator<Item = Stall>) -> Option<Stall> {
    stalls.max_by(|one, other| one.seconds.total_cmp(&other.seconds))
}

/// The longest one of whoever did something at these moments, in order, but for the times of these faults.
pub(crate) fn of_one(of: &str, samples: &[Sample], moments: &[f64], faults: &[&Fault]) -> Option<Stall> {
    let mut before = samples.first()?.at;
    let mut stall = Stall { of: of.to_owned(), begin: before, seconds: 0.0 };
    let mut longest: Option<Stall> = None;
    for Sample { at, ready } in samples {
        let last = moments[..moments.partition_point(|moment| moment <= at)].last().copied();
        if let Some(last) = last.filter(|last| *last > before) {
            (stall.begin, stall.seconds, before) = (last, 0.0, last);
        }
        let is_excused = faults.iter().any(|fault| fault.kind.may_stall() && fault.touches(*at, *at));
        match ready {
            Some(0) => (stall.begin, stall.seconds) = (*at, 0.0),
            Some(_) if !is_excused => stall.seconds += at - before,
            // Nobody knows, or it could not be otherwise: that counts for nothing, but ends nothing either.
            _ => {}
        }
        before = *at;
        if stall.seconds > longest.as_ref().map_or(0.0, |longest| longest.seconds) {
            longest = Some(stall.clone());
        }
    }
    longest
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::faults::Kind;

    fn samples(ready: u32) -> Vec<Sample> {
        (0..100).map(|at| Sample { at: f64::from(at), ready: Some(ready) }).collect()
    }

    #[test]
    fn only_time_without_runs_counts_while_messages_are_ready() {
        let stall = of_one("host 0", &samples(1), &[10.0, 60.0, 80.0], &[]).unwrap();
        assert_eq!((stall.begin, stall.seconds), (10.0, 49.0));
        assert_eq!(of_one("host 0", &samples(0), &[], &[]), None);
    }

    #[test]
    fn what_a_fault_causes_does_not_count_but_what_comes_after_does() {
        let fault = |host| Fault { kind: Kind::KillHost, host, begin: 0.0, end: Some(70.0), detail: String::new() };
        let stall = |faults: &[Fault]| {
            let course = Course { messages: &BTreeMap::new(), faults, hosts: 1, seconds: 100.0 };
            let stall = longest_of_hosts(&samples(1), &course).unwrap();
            (stall.begin, stall.seconds)
        };
        assert_eq!(stall(&[fault(Some(0))]), (0.0, 29.0));
        assert_eq!(stall(&[fault(Some(1))]), (0.0, 99.0));
    }

    #[test]
    fn a_host_that_stands_still_between_one_fault_and_the_next_is_not_excused_by_the_next() {
        let fault = |begin, end| Fault { kind: Kind::Refuse, host: None, begin, end: Some(end), detail: String::new() };
        let faults: Vec<_> = (0..5).map(|turn| f64::from(turn) * 20.0).map(|at| fault(at + 4.5, at + 19.5)).collect();
        let faults: Vec<_> = faults.iter().collect();
        assert_eq!(of_one("host 0", &samples(1), &[], &faults).unwrap().seconds, 24.0);
    }

    #[test]
    fn a_moment_at_which_the_broker_did_not_say_what_is_ready_neither_counts_nor_ends_a_stall() {
        let mut samples = samples(1);
        samples[50].ready = None;
        assert_eq!(of_one("host 0", &samples, &[], &[]).unwrap().seconds, 98.0);
        samples[50].ready = Some(0);
        assert_eq!(of_one("host 0", &samples, &[], &[]).unwrap().seconds, 49.0);
    }
}
