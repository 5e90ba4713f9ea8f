//! What a policy can do wrong while it decides: each has its class, and none is felt by the next decision.

use std::time::{Duration, Instant};

use reprieve::policy::engine::{EngineLimits, Revision};
use reprieve::policy::rejection::{Rejection, Step};
use reprieve::verdict::FaultKind;
use serde_json::json;

use crate::support::{engine, failure, load_into, module, obedient};

fn fault(revision: &Revision, behaviour: &str) -> (FaultKind, String) {
    let fault = revision.decide(&failure(behaviour)).expect_err(behaviour);
    assert_eq!(revision.decide(&failure("count")).unwrap().reason, "1", "after {behaviour}");
    (fault.kind, fault.text)
}

#[test]
fn a_panic_is_a_trap_with_the_panics_own_text() {
    let (kind, text) = fault(obedient(), "panic");
    assert_eq!(kind, FaultKind::Trap);
    assert!(text.contains("told to panic in decide"), "{text}");
}

#[test]
fn an_endless_recursion_is_a_stack_overflow() {
    assert_eq!(fault(obedient(), "recurse").0, FaultKind::StackOverflow);
}

#[test]
fn a_policy_that_takes_memory_for_ever_is_told_from_one_that_panics() {
    let (kind, text) = fault(obedient(), "eat-memory");
    assert_eq!(kind, FaultKind::Memory);
    assert!(text.contains("16777216"), "{text}");
}

#[test]
fn an_endless_loop_ends_at_the_deadline() {
    let deadline = Duration::from_millis(50);
    let engine = engine(EngineLimits { deadline, ..EngineLimits::default() });
    let revision = load_into(&engine, &module("misbehaving"), &json!({})).unwrap();
    let began = Instant::now();
    let fault = revision.decide(&failure("loop")).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Timeout);
    assert!(began.elapsed() >= deadline);
    assert_eq!(revision.decide(&failure("count")).unwrap().reason, "1");
}

#[test]
fn an_endless_loop_ends_after_a_quiet_time_too() {
    // The clock stands still after a hundred idle ticks, which here are 20 ms. Were it not stopped yet, this would
    // show nothing, but not fail.
    let engine = engine(EngineLimits { deadline: Duration::from_millis(2), ..EngineLimits::default() });
    let revision = load_into(&engine, &module("misbehaving"), &json!({})).unwrap();
    for _ in 0..2 {
        std::thread::sleep(Duration::from_millis(200));
        assert_eq!(revision.decide(&failure("loop")).unwrap_err().kind, FaultKind::Timeout);
    }
}

#[test]
fn an_endless_loop_in_configure_ends_at_its_own_deadline() {
    let engine = engine(EngineLimits { configure_deadline: Duration::from_millis(50), ..EngineLimits::default() });
    let rejection = load_into(&engine, &module("misbehaving"), &json!({ "configure": "loop" })).unwrap_err();
    let Rejection::Faulted { during: Step::Configure, fault } = rejection else { panic!("{rejection}") };
    assert_eq!(fault.kind, FaultKind::Timeout);
}

#[test]
fn a_verdict_that_breaks_the_rules_is_invalid() {
    let revision = obedient();
    for behaviour in ["huge-reason", "many-headers", "reserved-header", "broker-header", "control-header", "nul-label"]
    {
        let (kind, text) = fault(revision, behaviour);
        assert_eq!(kind, FaultKind::InvalidVerdict, "{behaviour}: {text}");
    }
}
