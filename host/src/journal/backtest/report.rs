//! What came of a backtest.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Followed, Gap, Load};
use crate::timestamp::{Timestamp, as_text};

/// What would change. Its JSON form is documented, and only grows.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Report {
    /// Failures that were looked at.
    pub failures: u64,
    /// Those of them that were judged.
    pub judged: u64,
    /// Those that lack something that a policy reads.
    pub incomplete: u64,
    /// What was not kept and is read, each with the failures that lack it.
    pub gaps: BTreeMap<Gap, u64>,
    /// Those that get the same verdict: action, its parameters, and the pause of the intake.
    pub same: u64,
    /// Those that get another.
    pub changed: u64,
    /// The changes by error kind, the most frequent first.
    pub groups: Vec<Group>,
    /// Verdicts by action.
    pub verdicts: BTreeMap<&'static str, Count>,
    /// What a host would do, by the action that says the same: the fallback judges after a fault, and what cannot be is
    /// overridden.
    pub outcomes: BTreeMap<&'static str, Count>,
    /// Policies that gave none, by the class of the fault.
    pub faults: Vec<Faults>,
    /// Verdicts that the host would not carry out as they are.
    pub overrides: Vec<Override>,
    /// How long messages would wait for their next attempt, the shortest waits first.
    pub waits: Vec<Waits>,
    /// Attempts that would follow, over time.
    pub load: Load,
    /// Whole messages, as far as the record tells; absent where they were not followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<Followed>,
}

/// How many before, and how many after.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Count {
    /// By what is compared with.
    pub before: u64,
    /// By the candidate.
    pub after: u64,
}

impl Count {
    pub(super) fn add(&mut self, more: Self) {
        self.before += more.before;
        self.after += more.after;
    }
}

/// One kind of change.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Change {
    /// The kind of the errors.
    pub error_kind: String,
    /// What was said before, such as `retry, at most 10s`.
    pub from: String,
    /// What would be said.
    pub to: String,
}

/// Failures with the same change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Group {
    /// Which change.
    #[serde(flatten)]
    pub change: Change,
    /// How many.
    pub count: u64,
    /// The earliest few.
    pub examples: Vec<Example>,
}

/// One recorded failure.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Example {
    /// When it was.
    #[serde(serialize_with = "as_text")]
    pub at: Timestamp,
    /// Which of the journals it is from, counted from 0.
    pub journal: usize,
    /// Its number there.
    pub entry: u64,
    /// The message's id, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
}

/// Faults of one class.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Faults {
    /// The class, such as `trap` or `timeout`.
    pub kind: &'static str,
    /// How many.
    #[serde(flatten)]
    pub count: Count,
    /// What one of the candidate's says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The earliest few of the candidate's.
    pub examples: Vec<Example>,
}

/// Verdicts that become another outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Override {
    /// The verdict's action.
    pub verdict: &'static str,
    /// What the host would do.
    pub outcome: &'static str,
    /// How many.
    #[serde(flatten)]
    pub count: Count,
    /// Why, of one of them.
    pub text: String,
}

/// Waits of one order of magnitude.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Waits {
    /// Such as `at most 10s`.
    pub name: String,
    /// The longest of them; absent for the longest of all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_most_ms: Option<u64>,
    /// How many.
    #[serde(flatten)]
    pub count: Count,
}
