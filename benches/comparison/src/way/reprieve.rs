//! Reprieve: a policy as a component, and for each decision a clean instance that is configured already.

use std::time::Duration;

use reprieve::policy::engine::{Candidate, Engine, EngineLimits, Revision, Start};
use reprieve::policy::route_record::RouteRecord;
use reprieve::topic::Tier;
use reprieve::verdict::Verdict;

use super::{Decider, MEMORY, Way};
use crate::sample::{SETTINGS, Sample};

pub(super) struct Reprieve(Revision);

impl Reprieve {
    pub(super) fn load(policy: &[u8]) -> anyhow::Result<Self> {
        let limits = EngineLimits { memory: MEMORY, ..EngineLimits::default() };
        let settings = serde_json::from_str(SETTINGS)?;
        let route = RouteRecord {
            name: "orders".to_owned(),
            source: "orders".to_owned(),
            tiers: vec![Tier { name: "30s".to_owned(), delay: Duration::from_secs(30) }],
            dead_letters: vec!["default".to_owned()],
            retry: reprieve_sdk::RetryPolicy::default(),
            max_retry_delay: Duration::from_secs(60),
            max_body: 0,
        };
        let candidate = Candidate { name: "comparison", bytes: policy, route: &route, settings: &settings };
        let revision = Engine::new(limits)?.load(&candidate)?;
        anyhow::ensure!(revision.start() == Start::Snapshot, "no snapshot was taken, which is what is to be measured");
        Ok(Self(revision))
    }
}

impl Way for Reprieve {
    fn name(&self) -> String {
        format!("Reprieve {}", super::version("reprieve"))
    }

    fn boundary(&self) -> &'static str {
        "typed records of the whole failure"
    }

    fn state(&self) -> &'static str {
        "none: a clean instance each"
    }

    fn sandbox(&self) -> &'static str {
        "Wasm, with a deadline and 16 MiB"
    }

    fn decider(&self) -> anyhow::Result<Box<dyn Decider + '_>> {
        Ok(Box::new(&self.0))
    }
}

impl Decider for &Revision {
    fn decide(&mut self, sample: &Sample) -> anyhow::Result<Verdict> {
        Ok(Revision::decide(self, &sample.failure)?)
    }
}
