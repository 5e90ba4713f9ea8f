//! Counts the decisions of one instance in a static, and answers the count as its reason. With a
//! clean instance for each decision that is always 1.

use std::sync::atomic::{AtomicU32, Ordering};

use reprieve_sdk::{Failure, NoSettings, Policy, Problem, Route, Verdict};

static DECISIONS: AtomicU32 = AtomicU32::new(0);

struct Counter;

impl Policy for Counter {
    type Settings = NoSettings;

    fn configure(_: NoSettings, _: &Route) -> Result<Self, Vec<Problem>> {
        Ok(Self)
    }

    fn decide(&self, _: &Failure) -> Verdict {
        let count = DECISIONS.fetch_add(1, Ordering::Relaxed) + 1;
        Verdict::dead_letter().because(count.to_string())
    }
}

reprieve_sdk::policy!(Counter);
