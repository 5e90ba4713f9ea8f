//! A reload looks at the pair of file and settings, wherever the change came from.

use std::fs;

use serde_json::json;

use super::support::{Place, bad_settings, policy, route, until, with_settings};
use crate::policy::registry::RoutePolicy;
use crate::policy::status::Source;

fn orders() -> RoutePolicy {
    route("orders", Some("orders"))
}

#[tokio::test]
async fn rejected_settings_keep_what_is_live_and_good_ones_activate_the_file() {
    let place = Place::new();
    place.install("orders", &policy(1));
    let running = place.start(vec![orders()]).await;
    running.reconfigure(vec![with_settings(orders(), bad_settings())]).await;
    assert!(running.error("orders").is_some(), "the answer is there when reconfiguring returns");
    assert!(running.runs("orders", &policy(1)));

    let scans = running.scans();
    place.install("orders", &policy(2));
    running.until_quiet_after(scans).await;
    assert!(running.runs("orders", &policy(1)), "the new file does not take the settings either");

    running.reconfigure(vec![orders()]).await;
    assert!(running.runs("orders", &policy(2)));
    assert_eq!(running.error("orders"), None);
    running.stop().await;
}

#[tokio::test]
async fn new_settings_make_a_new_revision_of_the_same_file() {
    let place = Place::new();
    place.install("orders", &policy(1));
    let mut running = place.start(vec![orders()]).await;
    let before = running.route("orders").live.unwrap();
    let mut changed = orders();
    changed.record.dead_letters.push("invalid".to_owned());
    running.reconfigure(vec![changed.clone()]).await;
    let after = running.route("orders").live.unwrap();
    assert_eq!(before.file_digest, after.file_digest);
    assert_ne!(before.revision, after.revision);
    assert_eq!(running.swaps(), 2);
    running.reconfigure(vec![changed]).await;
    assert_eq!(running.swaps(), 0, "nothing changed");
    running.stop().await;
}

#[tokio::test]
async fn a_route_can_be_given_another_policy_and_the_embedded_one() {
    let place = Place::new();
    place.install("orders", &policy(1));
    place.install("strict", &policy(2));
    let running = place.start(vec![orders()]).await;
    running.reconfigure(vec![route("orders", Some("strict"))]).await;
    assert!(running.runs("orders", &policy(2)));
    running.reconfigure(vec![route("orders", None)]).await;
    let status = running.route("orders");
    assert_eq!((status.policy.as_str(), status.live.unwrap().source), ("standard", Source::Embedded));
    // A policy that is not there leaves the route on what it has.
    running.reconfigure(vec![route("orders", Some("absent"))]).await;
    assert!(running.error("orders").unwrap().contains("absent.wasm does not exist"));
    let status = running.route("orders");
    assert_eq!((status.policy.as_str(), status.live.unwrap().source), ("standard", Source::Embedded));
    running.stop().await;
}

#[tokio::test]
async fn settings_can_change_while_the_file_is_deleted() {
    let place = Place::new();
    place.install("orders", &policy(1));
    let running = place.start(vec![orders()]).await;
    let before = running.route("orders").live.unwrap();
    fs::remove_file(place.file("orders")).unwrap();
    let mut changed = orders();
    changed.record.max_body = 7;
    running.reconfigure(vec![changed.clone()]).await;
    let after = running.route("orders").live.unwrap();
    assert_eq!(before.file_digest, after.file_digest);
    assert_ne!(before.revision, after.revision);
    running.reconfigure(vec![with_settings(changed, bad_settings())]).await;
    assert_eq!(running.route("orders").live.unwrap().revision, after.revision);
    assert!(running.error("orders").unwrap().contains("; and the last good copy of "));
    running.stop().await;
}

#[tokio::test]
async fn each_route_has_its_own_settings_for_a_shared_file() {
    let place = Place::new();
    place.install("shared", &policy(1));
    let strict = with_settings(route("strict", Some("shared")), bad_settings());
    let running = place.start(vec![strict.clone(), route("lax", Some("shared"))]).await;
    assert!(running.runs("lax", &policy(1)));
    assert!(!running.policies.handle("strict").unwrap().is_ready());
    place.install("shared", &policy(2));
    running.until_runs("lax", &policy(2)).await;
    running.reconfigure(vec![with_settings(strict, json!({}))]).await;
    until("the strict route", || running.runs("strict", &policy(2))).await;
    running.stop().await;
}
