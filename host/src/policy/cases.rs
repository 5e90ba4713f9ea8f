//! Cases: failures with the verdicts that a policy's author expects. In files beside the policy, or carried by it: a host
//! runs those before every swap, and refuses a policy that fails its own.
//!
//! # Layout
//! * `table`, `files`: how cases are written, and where.
//! * [`Place`]: a place in what is written.
//! * `route`: the route that a case is judged on.
//! * [`expectation`]: what is expected, and how a verdict differs from it.
//! * [`section`]: the cases that a policy file carries.

pub mod expectation;
mod files;
mod place;
mod route;
pub mod section;
mod table;

use std::sync::Arc;

use serde_json::Value;

use crate::failure::Failure;
use crate::policy::rejection::Problem;
use crate::policy::route_record::RouteRecord;
use crate::verdict::{Fault, Verdict};
use expectation::{Difference, Expectation};
pub use files::{CaseFileError, files_in};
pub use place::Place;
pub use route::example_route;
pub use table::{CaseError, CaseTable};

/// The most cases that one policy may carry.
pub const MAX_CASES: usize = 1000;

/// One failure, and the verdict that is expected.
#[derive(Debug, Clone)]
pub struct Case {
    /// What it shows, in the author's words.
    pub name: String,
    /// The route that the policy is configured for.
    pub route: Arc<RouteRecord>,
    /// The settings that it is configured with. Shared by the cases of a table, like the route: copies of what is written
    /// once would multiply it by the number of cases.
    pub settings: Arc<Value>,
    /// What it has to judge.
    pub failure: Failure,
    /// What its verdict has to be.
    pub expect: Expectation,
}

/// What came of a case.
#[derive(Debug, Clone, PartialEq)]
pub enum CaseResult {
    /// The verdict is as expected.
    Passed(Box<Verdict>),
    /// The verdict is another.
    Differs {
        /// Each thing that is not as expected; at least one.
        differences: Vec<Difference>,
        /// The verdict.
        verdict: Box<Verdict>,
    },
    /// The policy refused the case's settings.
    Refused(Vec<Problem>),
    /// The policy failed before it could judge, when it was to take its settings.
    NotConfigured(Fault),
    /// The policy gave no verdict.
    Faulted(Fault),
}

impl CaseResult {
    /// What this verdict makes of the case.
    pub(super) fn of(verdict: Verdict, expect: &Expectation) -> Self {
        let differences = expect.differences(&verdict);
        let verdict = Box::new(verdict);
        if differences.is_empty() { Self::Passed(verdict) } else { Self::Differs { differences, verdict } }
    }

    /// The verdict, where there is one.
    #[must_use]
    pub const fn verdict(&self) -> Option<&Verdict> {
        match self {
            Self::Passed(verdict) | Self::Differs { verdict, .. } => Some(verdict),
            _ => None,
        }
    }

    /// Why the case failed, in one line; `None` where it passed.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        let listed = |items: Vec<String>| items.join("; ");
        match self {
            Self::Passed(_) => None,
            Self::Differs { differences, .. } => Some(listed(differences.iter().map(ToString::to_string).collect())),
            Self::Refused(problems) => {
                Some(format!("it refuses the settings: {}", listed(problems.iter().map(ToString::to_string).collect())))
            }
            Self::NotConfigured(fault) => Some(format!("it failed when taking its settings: {fault}")),
            Self::Faulted(fault) => Some(fault.to_string()),
        }
    }
}
