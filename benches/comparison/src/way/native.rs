//! The policy as an ordinary Rust crate: what the rules themselves cost, without anything around them.

use policy_comparison::FirstRule;
use reprieve::verdict::{Action, Verdict};
use reprieve_sdk::{Policy, Route, duration::to_millis};

use super::{Decider, Way};
use crate::sample::{SETTINGS, Sample};

pub(super) struct Native(FirstRule);

impl Native {
    pub(super) fn configure() -> anyhow::Result<Self> {
        let policy = reprieve_sdk::configure(SETTINGS, &Route::new("orders"));
        Ok(Self(policy.map_err(|problems| anyhow::anyhow!("the settings are refused: {problems:?}"))?))
    }
}

impl Way for Native {
    fn name(&self) -> String {
        "native Rust".to_owned()
    }

    fn boundary(&self) -> &'static str {
        "none: the failure is lent"
    }

    fn state(&self) -> &'static str {
        "whatever the code keeps"
    }

    fn sandbox(&self) -> &'static str {
        "none"
    }

    fn decider(&self) -> anyhow::Result<Box<dyn Decider + '_>> {
        Ok(Box::new(&self.0))
    }
}

impl Decider for &FirstRule {
    fn decide(&mut self, sample: &Sample) -> anyhow::Result<Verdict> {
        let verdict = Policy::decide(*self, &sample.seen);
        let action = match verdict.action {
            reprieve_sdk::Action::Retry(wait) => Action::Retry { delay_ms: to_millis(wait) },
            reprieve_sdk::Action::Delay(delay) => Action::Delay { delay_ms: to_millis(delay) },
            reprieve_sdk::Action::DeadLetter(label) => Action::DeadLetter { label },
            other => anyhow::bail!("no verdict of these rules: {other:?}"),
        };
        Ok(Verdict::new(action, verdict.reason))
    }
}
