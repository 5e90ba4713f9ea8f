use std::sync::Arc;
use std::time::Duration;

use reprieve_sdk::RetryPolicy;
use serde_json::json;
use tokio::sync::Notify;

use super::comparison::{Compared, compare};
use super::*;
use crate::failure::Failure;
use crate::observer::Observer;
use crate::policy::embedded::STANDARD;
use crate::policy::engine::{Candidate, Engine, EngineLimits, Revision};
use crate::policy::route_record::RouteRecord;
use crate::verdict::{Action, Fault, FaultKind, Verdict};

fn failure(id: usize) -> Failure {
    Failure::from_written(&json!({ "message": { "id": format!("order-{id}") } })).unwrap()
}

fn drop_it() -> Result<Verdict, Fault> {
    Ok(Verdict::new(Action::Drop, ""))
}

fn retry(delay_ms: u64) -> Result<Verdict, Fault> {
    Ok(Verdict::new(Action::Retry { delay_ms }, ""))
}

fn fault() -> Result<Verdict, Fault> {
    Err(Fault::new(FaultKind::Trap, "it panicked"))
}

fn revision() -> Arc<Revision> {
    let record = RouteRecord {
        name: "orders".to_owned(),
        source: "orders".to_owned(),
        tiers: Vec::new(),
        dead_letters: Vec::new(),
        retry: RetryPolicy::default(),
        max_retry_delay: Duration::from_secs(60),
        max_body: 1024,
    };
    let engine = Engine::new(EngineLimits::default()).unwrap();
    let candidate = Candidate { name: "orders.next", bytes: STANDARD, route: &record, settings: &json!({}) };
    Arc::new(engine.load(&candidate).unwrap())
}

fn trial(plan: CandidatePlan) -> Trial {
    Trial::new(&"orders".into(), revision(), plan, &Observer::new(), Arc::new(Notify::new()))
}

fn canary() -> CandidatePlan {
    CandidatePlan { mode: CandidateMode::Canary, share: 1.0, ..CandidatePlan::default() }
}

#[test]
fn a_share_is_near_its_size_and_each_candidate_has_another() {
    let taken = |salt: &str| (0..10_000).filter(|id| share::takes(0.05, salt, &failure(*id))).collect::<Vec<_>>();
    let (one, other) = (taken("a"), taken("b"));
    assert!((400..600).contains(&one.len()), "{}", one.len());
    assert_ne!(one, other);
    assert_eq!(one, taken("a"), "the same messages each time");
    assert!((0..100).all(|id| share::takes(1.0, "a", &failure(id)) && !share::takes(0.0, "a", &failure(id))));
}

#[test]
fn a_message_goes_by_its_id_else_its_key_else_its_body() {
    let of = |written: serde_json::Value| share::takes(0.5, "a", &Failure::from_written(&written).unwrap());
    let same = |first: serde_json::Value, second: serde_json::Value| of(first) == of(second);
    for number in 0..50 {
        let (id, other) = (format!("{number}"), format!("{}", number + 1));
        assert!(same(json!({"message": {"id": id, "key": "k"}}), json!({"message": {"id": id, "body": other}})));
        assert!(same(json!({"message": {"key": id, "body": "b"}}), json!({"message": {"key": id, "body": other}})));
    }
    let bodies = (0..50).map(|number| of(json!({ "message": { "body": format!("{number}") } })));
    assert!(bodies.collect::<std::collections::HashSet<_>>().len() == 2, "not all on one side");
}

#[test]
fn verdicts_are_the_same_where_nothing_differs_that_changes_a_messages_way() {
    assert_eq!(compare(&retry(1), &Ok(Verdict::new(Action::Retry { delay_ms: 1 }, "another reason"))), Compared::Same);
    assert_eq!(compare(&retry(1), &retry(2)), Compared::Changed(Change { from: "retry", to: "retry" }));
    assert_eq!(compare(&retry(1), &drop_it()), Compared::Changed(Change { from: "retry", to: "drop" }));
    assert_eq!(compare(&fault(), &drop_it()), Compared::Changed(Change { from: "fault", to: "drop" }));
    assert_eq!(compare(&drop_it(), &fault()), Compared::Fault);
}

#[test]
fn one_fault_more_than_is_allowed_takes_a_canary_back_at_once() {
    let trial = trial(CandidatePlan { max_faults: 1, ..canary() });
    trial.count(&drop_it(), &fault(), Duration::ZERO);
    assert!(trial.takes(&failure(1)) && trial.turn().is_none());
    trial.count(&drop_it(), &fault(), Duration::ZERO);
    assert!(!trial.takes(&failure(1)), "nobody has looked yet, and it is asked no more");
    let Some(Turn::RollBack(reason)) = trial.turn() else { panic!("{:?}", trial.turn()) };
    assert_eq!(reason, "2 of 2 decisions were faults, and 1 are allowed: trap: it panicked");
}

#[test]
fn a_canary_that_judges_otherwise_too_often_is_taken_back_once_there_are_enough_decisions() {
    let trial = trial(CandidatePlan { max_changed: 0.25, min_decisions: 8, ..canary() });
    for _ in 0..4 {
        trial.count(&retry(1), &drop_it(), Duration::ZERO);
    }
    assert_eq!(trial.turn(), None, "four decisions say little");
    for _ in 0..3 {
        trial.count(&retry(1), &retry(1), Duration::ZERO);
    }
    assert_eq!(trial.turn(), None);
    trial.count(&retry(1), &retry(1), Duration::ZERO);
    let Some(Turn::RollBack(reason)) = trial.turn() else { panic!("{:?}", trial.turn()) };
    assert_eq!(reason, "4 of 8 verdicts differ from the live policy's, and 25% are allowed");
}

#[test]
fn enough_decisions_within_bounds_promote_a_canary_and_never_a_shadow_or_a_held_one() {
    let plan = CandidatePlan { promote_after: Some(2), ..canary() };
    for (plan, is_promoted) in
        [(plan.clone(), true), (CandidatePlan { mode: CandidateMode::Shadow, ..plan.clone() }, false)]
    {
        let trial = trial(plan);
        for _ in 0..2 {
            trial.count(&drop_it(), &drop_it(), Duration::ZERO);
        }
        assert_eq!(matches!(trial.turn(), Some(Turn::Promote(_))), is_promoted);
    }
    let trial = trial(plan);
    trial.hold(true);
    for _ in 0..2 {
        trial.count(&drop_it(), &drop_it(), Duration::ZERO);
    }
    assert_eq!(trial.turn(), None);
    trial.hold(false);
    assert!(matches!(trial.turn(), Some(Turn::Promote(_))));
}
