//! Loads a policy and has it judge, on one thread and on two.

use std::time::{Duration, Instant};

use anyhow::Context as _;

use super::super::judged::Judged;
use super::{Latency, Measurement};
use crate::failure::Failure;
use crate::policy::engine::{Engine, Revision};
use crate::policy::usage::Usage;
use crate::verdict::{Fault, FaultKind, Verdict};

/// Times that are kept: as many as fit into 32 MiB.
const MOST_TIMES: usize = 4 * 1024 * 1024;

/// How long to measure.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    warm_up: Duration,
    one_thread: Duration,
    two_threads: Duration,
}

impl Times {
    pub(super) fn new(one_thread: Duration) -> Self {
        Self { warm_up: one_thread / 10, one_thread, two_threads: one_thread / 2 }
    }
}

pub(super) fn measure(judged: &Judged, failure: Failure, times: Times) -> anyhow::Result<Measurement> {
    let engine = Engine::new(judged.limits.clone()).context("cannot start the policy engine")?;
    let began = Instant::now();
    let revision = judged.load_or_explain(&engine)?;
    let load = began.elapsed();
    let metered = Engine::metered(judged.limits.clone()).context("cannot start the policy engine")?;
    let counted = judged.load_or_explain(&metered)?.measure(&failure);

    let _ = decide(&revision, &failure, times.warm_up);
    let one = decide(&revision, &failure, times.one_thread);
    let one_thread = one.per_second();
    let two_threads = std::thread::scope(|scope| {
        let threads = [(); 2].map(|()| scope.spawn(|| decide(&revision, &failure, times.two_threads).per_second()));
        threads.into_iter().map(|thread| thread.join().expect("deciding does not panic")).sum()
    });
    Ok(Measurement {
        maker: revision.maker().to_string(),
        decisions: one.decisions,
        latency: Latency::new(one.nanos).context("no decision was made in the time")?,
        faults: one.faults,
        fault: one.fault,
        one_thread,
        two_threads,
        load,
        instructions: counted.instructions,
        memory: Usage::memory(counted.memory, &judged.limits, one.out_of_memory),
        file: Usage::file_size(judged.policy.bytes.len(), &judged.limits),
        deadline: judged.limits.deadline,
        failure,
    })
}

/// What one thread did.
#[derive(Default)]
struct Done {
    /// How long decisions took, of the first [`MOST_TIMES`].
    nanos: Vec<u64>,
    decisions: usize,
    elapsed: Duration,
    faults: usize,
    /// What the first fault said.
    fault: Option<String>,
    /// The limit of memory stopped a decision.
    out_of_memory: bool,
}

impl Done {
    fn per_second(&self) -> f64 {
        self.decisions as f64 / self.elapsed.as_secs_f64()
    }

    fn add(&mut self, result: Result<Verdict, Fault>, took: Duration) {
        self.decisions += 1;
        if self.nanos.len() < MOST_TIMES {
            self.nanos.push(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
        }
        if let Err(fault) = result {
            self.faults += 1;
            self.out_of_memory |= fault.kind == FaultKind::Memory;
            self.fault.get_or_insert_with(|| fault.to_string());
        }
    }
}

/// Judges again and again; once at least.
fn decide(revision: &Revision, failure: &Failure, within: Duration) -> Done {
    let mut done = Done::default();
    let began = Instant::now();
    let mut before = began;
    while done.decisions == 0 || done.elapsed < within {
        let result = revision.decide(failure);
        let now = Instant::now();
        done.add(result, now - before);
        done.elapsed = now - began;
        before = now;
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_are_counted_beyond_the_times_that_are_kept() {
        let mut done = Done { nanos: vec![1; MOST_TIMES], decisions: MOST_TIMES, ..Done::default() };
        done.add(Err(Fault::new(FaultKind::Timeout, "late")), Duration::from_secs(1));
        assert_eq!((done.nanos.len(), done.decisions, done.faults), (MOST_TIMES, MOST_TIMES + 1, 1));
    }

    #[test]
    fn memory_is_over_where_its_limit_stopped_any_decision() {
        let mut done = Done::default();
        done.add(Err(Fault::new(FaultKind::Trap, "first")), Duration::ZERO);
        assert!(!done.out_of_memory);
        done.add(Err(Fault::new(FaultKind::Memory, "second")), Duration::ZERO);
        done.add(Err(Fault::new(FaultKind::Trap, "third")), Duration::ZERO);
        assert!(done.out_of_memory);
        assert!(done.fault.is_some_and(|fault| fault.contains("first")), "the first is told");
    }
}
