//! Does a policy keep something between decisions?
//!
//! On a host it cannot: each decision gets a clean instance. So what it counts or remembers is always as it was after
//! `configure`, which is hardly what its author meant. Here one instance judges the same failures several times, in several
//! orders; a pure policy gives the verdicts of clean instances each time.

use std::fmt;
use std::sync::Arc;

use super::engine::Revision;
use crate::failure::{Failure, Health};
use crate::handler_error::HandlerError;
use crate::message::Message;
use crate::timestamp::Timestamp;
use crate::verdict::{Fault, Verdict};

/// 2026-01-01T12:00:00Z.
const BEGAN: u64 = 1_767_268_800_000;

/// What came of the failures.
#[derive(Debug, Clone, PartialEq)]
pub enum Purity {
    /// Every verdict was that of a clean instance.
    Pure {
        /// How many failures there were.
        failures: usize,
    },
    /// A verdict was another one.
    Impure(Box<Impurity>),
    /// The same, but that a clean instance gave no verdict on some of the failures, which may as well come from a handler.
    Faulty {
        /// The first of them.
        failure: Box<Failure>,
        /// How it failed.
        fault: Fault,
    },
}

/// Where a policy showed that it keeps something.
#[derive(Debug, Clone, PartialEq)]
pub struct Impurity {
    /// The order in which the failures were judged.
    pub order: Order,
    /// How many decisions the instance had made before.
    pub after: usize,
    /// What was judged.
    pub failure: Failure,
    /// The verdict of a clean instance.
    pub clean: Verdict,
    /// That of the used one.
    pub used: Result<Verdict, Fault>,
}

/// An order of the failures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "they say what they are")]
pub enum Order {
    Forwards,
    Backwards,
    /// Each one twice in a row.
    Doubled,
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Forwards => "in order",
            Self::Backwards => "in reverse order",
            Self::Doubled => "each twice in a row",
        })
    }
}

/// Has one instance judge failures of many kinds in several orders, and clean ones beside it.
#[must_use]
pub fn examine(revision: &Revision) -> Purity {
    let (mut failures, mut clean, mut faulty) = (Vec::new(), Vec::new(), None);
    for failure in self::failures() {
        match revision.measure(&failure).result {
            Ok(verdict) => {
                failures.push(failure);
                clean.push(verdict);
            }
            // The end of an instance: the orders are made of the others.
            Err(fault) => {
                faulty.get_or_insert(Purity::Faulty { failure: Box::new(failure), fault });
            }
        }
    }
    let forwards = 0..failures.len();
    let orders: [(Order, Vec<usize>); 3] = [
        (Order::Forwards, forwards.clone().chain(forwards.clone()).collect()),
        (Order::Backwards, forwards.clone().rev().collect()),
        (Order::Doubled, forwards.flat_map(|index| [index, index]).collect()),
    ];
    for (order, indexes) in orders {
        let used = revision.decide_on_one_instance(indexes.iter().map(|index| &failures[*index]));
        for (after, (used, index)) in used.into_iter().zip(indexes).enumerate() {
            if used.as_ref() != Ok(&clean[index]) {
                let (failure, clean) = (failures[index].clone(), clean.swap_remove(index));
                return Purity::Impure(Box::new(Impurity { order, after, failure, clean, used }));
            }
        }
    }
    faulty.unwrap_or(Purity::Pure { failures: failures.len() })
}

/// Failures that differ in kind, attempt, headers, age, health and seed.
fn failures() -> Vec<Failure> {
    let errors = ["timeout", "http-503", "http-429", "http-422", "validation", "panic", "error"];
    let attempts = [1, 2, 3, 7];
    let mut failures = Vec::new();
    for (round, attempt) in attempts.into_iter().enumerate() {
        for (turn, kind) in errors.into_iter().enumerate() {
            failures.push(failure(kind, attempt, (round * errors.len() + turn) as u64));
        }
    }
    failures
}

fn failure(kind: &str, attempt: u32, number: u64) -> Failure {
    let tenant = ["acme", "globex", "initech"][number as usize % 3];
    let mut message =
        Message::new(format!("{{\"id\": {number}}}")).with_id(number.to_string()).with_header("tenant", tenant);
    message.properties.content_type = Some("application/json".into());
    if number.is_multiple_of(4) {
        message = Message::new("").with_header("priority", i64::try_from(number).unwrap_or(0));
    }
    let mut error = HandlerError::from_kind(kind, format!("made up, number {number}"));
    error.retry_after = (kind == "http-429").then_some(30_000);
    let hours = number % 30;
    Failure {
        body_size: message.body_size() as u64,
        message: Arc::new(message),
        attempt,
        interruptions: u32::from(number.is_multiple_of(5)),
        redelivered: number % 2 == 1,
        tier: None,
        age_ms: hours * 60 * 60 * 1000,
        expires_in_ms: (number.is_multiple_of(6)).then_some(hours * 60 * 1000),
        error,
        health: Health { attempts: 100, failures: attempt, consecutive_failures: attempt, ..Health::default() },
        now: Timestamp(BEGAN + number * 1000),
        seed: number.wrapping_mul(0x9e37_79b9_7f4a_7c15),
        attributes: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;
    use crate::policy::cases::example_route;
    use crate::policy::embedded::{BY_ERROR_KIND, STANDARD};
    use crate::policy::engine::{Candidate, Engine, EngineLimits};

    #[test]
    fn the_embedded_policies_are_pure() {
        let engine = Engine::new(EngineLimits::default()).unwrap();
        for bytes in [STANDARD, BY_ERROR_KIND] {
            let (route, settings) = (example_route(), json!({}));
            let revision = engine.load(&Candidate { name: "p", bytes, route: &route, settings: &settings }).unwrap();
            assert_eq!(examine(&revision), Purity::Pure { failures: failures().len() });
        }
    }

    #[test]
    fn the_failures_differ_in_all_that_a_policy_may_go_by() {
        let failures = failures();
        let distinct = |part: fn(&Failure) -> String| failures.iter().map(part).collect::<BTreeSet<_>>().len();
        assert!(distinct(|failure| failure.error.kind.clone()) > 5);
        assert!(distinct(|failure| failure.attempt.to_string()) > 3);
        assert!(distinct(|failure| format!("{:?}", failure.message.headers)) > 3);
        assert!(distinct(|failure| failure.age_ms.to_string()) > 20);
        assert_eq!(distinct(|failure| failure.seed.to_string()), failures.len());
    }
}
