//! Loads a policy and has it judge, on one thread and on two.

use std::time::{Duration, Instant};

use anyhow::Context as _;

use super::super::judged::Judged;
use super::{Latency, Measurement};
use crate::failure::Failure;
use crate::policy::engine::{Engine, Revision};
use crate::policy::usage::Usage;

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
        latency: Latency::new(one.nanos).context("no decision was made in the time")?,
        faults: one.faults,
        fault: one.fault,
        one_thread,
        two_threads,
        load,
        instructions: counted.instructions,
        memory: Usage::memory(counted.memory, &judged.limits, false),
        file: Usage::file_size(judged.policy.bytes.len(), &judged.limits),
        deadline: judged.limits.deadline,
        failure,
    })
}

/// What one thread did.
struct Done {
    nanos: Vec<u64>,
    decisions: usize,
    elapsed: Duration,
    faults: usize,
    fault: Option<String>,
}

impl Done {
    fn per_second(&self) -> f64 {
        self.decisions as f64 / self.elapsed.as_secs_f64()
    }
}

/// Judges again and again; once at least.
fn decide(revision: &Revision, failure: &Failure, within: Duration) -> Done {
    let mut done = Done { nanos: Vec::new(), decisions: 0, elapsed: Duration::ZERO, faults: 0, fault: None };
    let began = Instant::now();
    let mut before = began;
    while done.decisions == 0 || done.elapsed < within {
        if let Err(fault) = revision.decide(failure) {
            done.faults += 1;
            done.fault.get_or_insert_with(|| fault.to_string());
        }
        let now = Instant::now();
        if done.nanos.len() < MOST_TIMES {
            done.nanos.push(u64::try_from((now - before).as_nanos()).unwrap_or(u64::MAX));
        }
        done.decisions += 1;
        done.elapsed = now - began;
        before = now;
    }
    done
}
