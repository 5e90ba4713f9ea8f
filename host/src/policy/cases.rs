//! Cases: failures with the verdicts that a policy's author expects. In files beside the policy, or carried by it: a host
//! runs those before every swap, and refuses a policy that fails its own.
//!
//! # Layout
//! * `table`: how cases are written.
//! * `route`: the route that a case is judged on.
//! * [`expectation`]: what is expected, and how a verdict differs from it.
//! * [`section`]: the cases that a policy file carries.

pub mod expectation;
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
    /// The verdict is the expected one.
    Passed,
    /// The verdict is another.
    Differs {
        /// Each thing that is not as expected; at least one.
        differences: Vec<Difference>,
        /// The verdict.
        verdict: Box<Verdict>,
    },
    /// The policy refused the case's settings.
    Refused(Vec<Problem>),
    /// The policy gave no verdict.
    Faulted(Fault),
}

impl CaseResult {
    /// Why the case failed, in one line; `None` where it passed.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        let listed = |items: Vec<String>| items.join("; ");
        match self {
            Self::Passed => None,
            Self::Differs { differences, .. } => Some(listed(differences.iter().map(ToString::to_string).collect())),
            Self::Refused(problems) => {
                Some(format!("it refuses the settings: {}", listed(problems.iter().map(ToString::to_string).collect())))
            }
            Self::Faulted(fault) => Some(fault.to_string()),
        }
    }
}
