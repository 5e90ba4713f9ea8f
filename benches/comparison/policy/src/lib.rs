//! The decision that is compared, as a policy: a module for Reprieve, and an ordinary crate for the way without a sandbox.

use comparison_rules::Settings;
use reprieve_sdk::{Failure, Policy, Problem, Route, Verdict};

/// The first rule that fits decides.
#[derive(Debug)]
pub struct FirstRule(Settings);

impl Policy for FirstRule {
    type Settings = Settings;

    fn configure(settings: Settings, _: &Route) -> Result<Self, Vec<Problem>> {
        Ok(Self(settings))
    }

    fn decide(&self, failure: &Failure) -> Verdict {
        self.0.decide(&failure.error.kind, failure.attempt, |name| failure.header_text(name))
    }
}

reprieve_sdk::policy!(FirstRule);
