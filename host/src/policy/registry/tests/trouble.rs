//! Bad input: each is told with its cure, and nothing else stops for it.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::support::{Place, Running, policy, route, until};
use crate::failure::Failure;
use crate::observer::Observer;
use crate::policy::engine::{Engine, EngineLimits};
use crate::policy::registry::{Policies, PolicySettings};
use crate::verdict::FaultKind;

fn failure() -> Arc<Failure> {
    let failure = json!({
        "message": {"body": "hello"}, "attempt": 1, "error": {"kind": "timeout", "text": "too slow"}, "now": 1,
    });
    Arc::new(serde_json::from_value(failure).unwrap())
}

#[tokio::test]
async fn a_truncated_file_keeps_the_old_policy() {
    let place = Place::new();
    place.install("orders", &policy(1));
    let mut running = place.start(vec![route("orders", Some("orders"))]).await;
    let new = policy(2);
    place.install("orders", &new[..new.len() / 2]);
    running.until_error("orders", "orders").await;
    assert!(running.runs("orders", &policy(1)));
    assert_eq!(running.swaps(), 1);
    let scans = running.scans();
    // A rename is one event; a write would be several, which a busy machine can tear apart.
    fs::write(place.elsewhere().join("hint"), "").unwrap();
    fs::rename(place.elsewhere().join("hint"), place.folder().join("hint")).unwrap();
    running.until_quiet_after(scans).await;
    assert_eq!(running.scans() - scans, 1, "what was rejected is not looked at again for its own sake");
    running.stop().await;
}

#[tokio::test]
async fn a_route_without_a_policy_waits_for_one_and_the_others_go_on() {
    let place = Place::new();
    let running = place.start(vec![route("orders", Some("orders")), route("mail", None)]).await;
    let handle = running.policies.handle("orders").unwrap();
    assert!(!handle.is_ready());
    assert!(running.error("orders").unwrap().contains("orders.wasm does not exist; put the policy there"));
    let decision = handle.decide(failure()).await;
    assert_eq!(decision.maker, None);
    assert_eq!(decision.result.unwrap_err().kind, FaultKind::NoPolicy);
    let others = running.policies.handle("mail").unwrap().decide(failure()).await;
    assert!(others.result.is_ok());

    place.install("orders", &policy(1));
    tokio::time::timeout(Duration::from_secs(60), handle.ready()).await.unwrap();
    let decision = handle.decide(failure()).await;
    assert_eq!(decision.maker.unwrap().policy, "orders");
    assert!(decision.result.is_ok());
    running.stop().await;
}

#[tokio::test]
async fn a_policy_without_a_folder_is_told_how_to_get_one() {
    let running = Running::start(PolicySettings::default(), vec![route("orders", Some("orders"))]).await;
    assert!(running.error("orders").unwrap().contains("set `folder` under [policies]"));
    running.stop().await;
}

#[tokio::test]
async fn a_candidate_is_not_taken_for_a_policy() {
    let place = Place::new();
    place.install("orders.next", &policy(1));
    let running = place.start(vec![route("orders", Some("orders.next"))]).await;
    assert!(running.error("orders").unwrap().contains("end in `.next`"));
    running.stop().await;
}

#[tokio::test]
async fn a_folder_that_comes_later_is_found() {
    let place = Place::new();
    fs::remove_dir(place.folder()).unwrap();
    let running = place.start(vec![route("orders", Some("orders"))]).await;
    assert!(running.status().folder.unwrap().problem.is_some());
    fs::create_dir(place.folder()).unwrap();
    place.install("orders", &policy(1));
    running.until_runs("orders", &policy(1)).await;
    assert_eq!(running.status().folder.unwrap().problem, None);
    running.stop().await;
}

#[tokio::test]
async fn a_fifo_a_folder_and_a_huge_file_are_rejected_and_stop_nobody() {
    let place = Place::new();
    let fifo = std::process::Command::new("mkfifo").arg(place.file("fifo")).status().unwrap();
    assert!(fifo.success());
    fs::create_dir(place.file("folder")).unwrap();
    fs::File::create(place.file("huge")).unwrap().set_len(1 << 40).unwrap();
    place.install("good", &policy(1));
    let routes = ["fifo", "folder", "huge", "good"].map(|name| route(name, Some(name)));
    let running = place.start(routes.into()).await;
    assert!(running.error("fifo").unwrap().contains("not a regular file"));
    assert!(running.error("folder").unwrap().contains("not a regular file"));
    assert!(running.error("huge").unwrap().contains("larger than"));
    assert!(running.runs("good", &policy(1)));
    running.stop().await;
}

#[tokio::test]
async fn a_file_that_no_route_names_is_checked_and_reported() {
    let place = Place::new();
    place.install("orders", &policy(1));
    place.install("spare", &policy(2));
    place.install("broken", b"not a policy");
    place.install("orders.next", &policy(3));
    fs::create_dir(place.file("folder")).unwrap();
    let running = place.start(vec![route("orders", Some("orders"))]).await;
    until("three reports", || running.status().unused.len() == 3).await;
    let unused = running.status().unused;
    let of = |name: &str| unused.iter().find(|unused| unused.policy == name).unwrap();
    assert!(of("spare").description.is_some() && of("spare").error.is_none());
    assert!(of("broken").error.is_some());
    assert!(of("folder").error.as_ref().unwrap().contains("not a regular file"));
    assert_eq!(running.status().candidates, ["orders"]);
    assert!(running.runs("orders", &policy(1)), "a candidate never judges");

    fs::remove_file(place.file("spare")).unwrap();
    until("the end of the report", || running.status().unused.len() == 2).await;
    running.stop().await;
}

#[tokio::test]
async fn two_routes_of_one_name_are_refused() {
    let engine = Engine::new(EngineLimits::default()).unwrap();
    let routes = vec![route("orders", None), route("orders", None)];
    let error = Policies::start(engine, PolicySettings::default(), routes, Observer::new()).await.unwrap_err();
    assert!(error.to_string().contains("two routes are named \"orders\""));
}

#[tokio::test]
async fn a_swap_leaves_the_old_revision_to_whoever_decides_on_it() {
    let place = Place::new();
    place.install("orders", &policy(1));
    let running = place.start(vec![route("orders", Some("orders"))]).await;
    let old = running.policies.handle("orders").unwrap().live().unwrap();
    place.install("orders", &policy(2));
    running.until_runs("orders", &policy(2)).await;
    assert!(old.decide(&failure()).is_ok());
    running.stop().await;
}

#[tokio::test]
async fn after_shutdown_the_live_revisions_judge_on_and_reconfiguring_does_nothing() {
    let place = Place::new();
    place.install("orders", &policy(1));
    let running = place.start(vec![route("orders", Some("orders"))]).await;
    running.policies.shutdown().await;
    running.reconfigure(vec![route("orders", None)]).await;
    assert!(running.runs("orders", &policy(1)));
    assert!(running.policies.handle("orders").unwrap().decide(failure()).await.result.is_ok());
}
