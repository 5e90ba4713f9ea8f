//! How long messages stood still that a host could have taken, for no reason that the rig gave.

use std::collections::BTreeMap;

use crate::books::Message;
use crate::faults::Fault;

/// What was ready on the source at a moment; nothing where the broker could not be asked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    pub(crate) at: f64,
    pub(crate) ready: Option<u32>,
}

/// A time in which a host did nothing, though messages were ready and no fault concerned it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Stall {
    pub(crate) host: usize,
    pub(crate) begin: f64,
    pub(crate) seconds: f64,
}

/// The longest one of all hosts.
pub(crate) fn longest(
    samples: &[Sample],
    messages: &BTreeMap<u64, Message>,
    faults: &[Fault],
    hosts: usize,
) -> Option<Stall> {
    let of_host = |host| {
        let runs = messages.values().flat_map(|message| &message.runs).filter(|run| run.host == host);
        let mut moments: Vec<f64> = runs.flat_map(|run| [Some(run.began), run.ended]).flatten().collect();
        moments.sort_by(f64::total_cmp);
        of_one(host, samples, &moments, faults)
    };
    (0..hosts).filter_map(of_host).max_by(|one, other| one.seconds.total_cmp(&other.seconds))
}

fn of_one(host: usize, samples: &[Sample], moments: &[f64], faults: &[Fault]) -> Option<Stall> {
    let mut begin = samples.first()?.at;
    let mut longest: Option<Stall> = None;
    for Sample { at, ready } in samples {
        let is_excused =
            faults.iter().any(|fault| fault.kind.may_stall() && fault.concerns(host) && fault.touches(*at, *at));
        if is_excused || ready.is_none_or(|ready| ready == 0) {
            begin = *at;
            continue;
        }
        let before = moments.partition_point(|moment| moment <= at);
        begin = before.checked_sub(1).map_or(begin, |last| moments[last].max(begin));
        let seconds = at - begin;
        if longest.is_none_or(|stall| stall.seconds < seconds) {
            longest = Some(Stall { host, begin, seconds });
        }
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::Kind;

    fn samples(ready: u32) -> Vec<Sample> {
        (0..100).map(|at| Sample { at: f64::from(at), ready: Some(ready) }).collect()
    }

    #[test]
    fn only_time_without_runs_counts_while_messages_are_ready() {
        let stall = of_one(0, &samples(1), &[10.0, 60.0, 80.0], &[]).unwrap();
        assert_eq!((stall.begin, stall.seconds), (10.0, 49.0));
        assert_eq!(of_one(0, &samples(0), &[], &[]), None);
    }

    #[test]
    fn what_a_fault_causes_does_not_count_but_what_comes_after_does() {
        let fault = |host| Fault { kind: Kind::KillHost, host, begin: 0.0, end: Some(70.0), detail: String::new() };
        let stall = of_one(0, &samples(1), &[], &[fault(Some(0))]).unwrap();
        assert_eq!((stall.begin, stall.seconds), (70.0, 29.0));
        let stall = of_one(0, &samples(1), &[], &[fault(Some(1))]).unwrap();
        assert_eq!((stall.begin, stall.seconds), (0.0, 99.0));
    }
}
