//! A decision and what it cost, for tools.

use std::time::{Duration, Instant};

use super::log_lines::LogLine;
use super::revision::{self, Revision};
use crate::failure::Failure;
use crate::verdict::{Fault, Verdict};

/// One decision.
#[derive(Debug, Clone)]
pub struct Measured {
    /// What the policy said.
    pub result: Result<Verdict, Fault>,
    /// From the failure to the verdict, the clean instance included.
    pub elapsed: Duration,
    /// The WebAssembly instructions that ran, where the engine counts them.
    pub instructions: Option<u64>,
    /// Bytes of memory that the instance had at the end.
    pub memory: usize,
    /// What the policy wrote to the log, as much as the log would have taken.
    pub log: Vec<LogLine>,
    /// Lines for which the log would have had no room.
    pub withheld: u32,
}

impl Revision {
    /// Judges a failure as [`Revision::decide`] does, and says what it cost. Log lines are kept instead of written.
    #[must_use]
    pub fn measure(&self, failure: &Failure) -> Measured {
        let slot = self.engine.shared.slots.take();
        let began = Instant::now();
        let mut store = self.engine.store(&slot, &self.identity, self.engine.limits().deadline);
        store.data_mut().log.keep();
        let result = self
            .configured_instance(&mut store)
            .and_then(|(program, instance)| revision::ask(program, &mut store, &instance, failure, &self.needs));
        let elapsed = began.elapsed();
        let (log, withheld) = store.data_mut().log.take_kept();
        Measured {
            result,
            elapsed,
            instructions: self.engine.instructions(&store),
            memory: store.data().memory_used(),
            log,
            withheld,
        }
    }

    /// Judges these failures one after the other with *one* instance, which no host does: a policy that keeps something
    /// between decisions shows it here. Ends at the first fault, which is the last result then. Log lines are dropped.
    #[must_use]
    pub fn decide_on_one_instance<'a>(
        &self,
        failures: impl IntoIterator<Item = &'a Failure>,
    ) -> Vec<Result<Verdict, Fault>> {
        let slot = self.engine.shared.slots.take();
        let deadline = self.engine.limits().deadline;
        let mut store = self.engine.store(&slot, &self.identity, deadline);
        store.data_mut().log.keep();
        let (program, instance) = match self.configured_instance(&mut store) {
            Ok(configured) => configured,
            Err(fault) => return vec![Err(fault)],
        };
        let mut results = Vec::new();
        for failure in failures {
            self.engine.allow_time(&mut store, deadline);
            results.push(revision::ask(program, &mut store, &instance, failure, &self.needs));
            if results.last().is_some_and(Result::is_err) {
                break;
            }
        }
        results
    }
}
