//! After a restart with a bad or missing file the host runs on what it ran on last, and says so.

use std::fs;

use super::support::{Place, bad_settings, policy, route, until, with_settings};
use crate::policy::registry::RoutePolicy;
use crate::policy::status::Source;

fn orders() -> RoutePolicy {
    route("orders", Some("orders"))
}

/// A place where a host ran on the first policy and has stopped.
async fn after_a_run() -> Place {
    let place = Place::new();
    place.install("orders", &policy(1));
    place.start(vec![orders()]).await.stop().await;
    place
}

#[tokio::test]
async fn a_restart_with_a_broken_file_runs_on_the_last_good_one_until_a_good_one_comes() {
    let place = after_a_run().await;
    fs::write(place.file("orders"), "not a policy").unwrap();
    let running = place.start(vec![orders()]).await;
    assert!(running.runs("orders", &policy(1)));
    assert_eq!(running.source("orders"), Some(Source::LastGood));
    assert!(running.error("orders").is_some());

    place.install("orders", &policy(2));
    running.until_runs("orders", &policy(2)).await;
    until("the source", || running.source("orders") == Some(Source::Folder)).await;
    assert_eq!(running.error("orders"), None);
    running.stop().await;
}

#[tokio::test]
async fn a_restart_without_the_file_or_the_folder_runs_on_the_last_good_one() {
    let place = after_a_run().await;
    fs::remove_dir_all(place.folder()).unwrap();
    let mut running = place.start(vec![orders()]).await;
    assert!(running.runs("orders", &policy(1)));
    assert_eq!(running.source("orders"), Some(Source::LastGood));
    assert!(running.error("orders").unwrap().contains("cannot read the policies folder"));

    // The file that it runs on already comes back: nothing to swap, all is well.
    fs::create_dir(place.folder()).unwrap();
    place.install("orders", &policy(1));
    until("the end of the error", || running.error("orders").is_none()).await;
    assert_eq!(running.source("orders"), Some(Source::Folder));
    assert_eq!(running.swaps(), 1);
    running.stop().await;
}

#[tokio::test]
async fn a_restart_with_rejected_settings_runs_on_the_last_good_pair() {
    let place = after_a_run().await;
    let running = place.start(vec![with_settings(orders(), bad_settings())]).await;
    assert!(running.runs("orders", &policy(1)));
    assert_eq!(running.source("orders"), Some(Source::LastGood));
    let error = running.error("orders").unwrap();
    // That the file is the one that runs does not mean that its new settings are good.
    let scans = running.scans();
    fs::write(place.folder().join("hint"), "").unwrap();
    running.until_quiet_after(scans).await;
    assert_eq!(running.error("orders"), Some(error));
    running.stop().await;
}

#[tokio::test]
async fn the_embedded_policy_has_a_last_good_pair_too() {
    let place = Place::new();
    place.start(vec![route("orders", None)]).await.stop().await;
    let running = place.start(vec![with_settings(route("orders", None), bad_settings())]).await;
    assert_eq!(running.source("orders"), Some(Source::LastGood));
    running.stop().await;
}

#[tokio::test]
async fn what_was_rejected_does_not_become_the_last_good_one() {
    let place = after_a_run().await;
    let running = place.start(vec![orders()]).await;
    fs::write(place.file("orders"), "not a policy").unwrap();
    running.until_error("orders", "orders").await;
    running.stop().await;
    let running = place.start(vec![orders()]).await;
    assert!(running.runs("orders", &policy(1)));
    running.stop().await;
}

#[tokio::test]
async fn a_damaged_state_folder_leaves_the_route_without_a_policy_but_the_host_starts() {
    let place = after_a_run().await;
    fs::remove_file(place.file("orders")).unwrap();
    fs::write(place.state().join("policies/orders/last-good.json"), "{").unwrap();
    let running = place.start(vec![orders(), route("mail", None)]).await;
    assert!(!running.policies.handle("orders").unwrap().is_ready());
    assert!(running.policies.handle("mail").unwrap().is_ready());
    running.stop().await;
}

#[tokio::test]
async fn a_swap_that_cannot_be_kept_waits_until_it_can() {
    let place = after_a_run().await;
    let running = place.start(vec![orders()]).await;
    fs::remove_dir_all(place.state()).unwrap();
    fs::write(place.state(), "a file in the way").unwrap();
    place.install("orders", &policy(2));
    running.until_error("orders", "was not activated: cannot keep").await;
    assert!(running.runs("orders", &policy(1)));

    fs::remove_file(place.state()).unwrap();
    fs::write(place.folder().join("hint"), "").unwrap();
    running.until_runs("orders", &policy(2)).await;
    until("the end of the error", || running.error("orders").is_none()).await;
    running.stop().await;
}

#[tokio::test]
async fn a_first_policy_that_cannot_be_kept_judges_and_is_kept_once_it_can_be() {
    let place = Place::new();
    place.install("orders", &policy(1));
    fs::write(place.state(), "a file in the way").unwrap();
    let running = place.start(vec![orders()]).await;
    assert!(running.runs("orders", &policy(1)));
    assert!(running.error("orders").unwrap().contains("cannot keep"));

    fs::remove_file(place.state()).unwrap();
    fs::write(place.folder().join("hint"), "").unwrap();
    until("the end of the error", || running.error("orders").is_none()).await;
    assert!(place.state().join("policies/orders/last-good.json").exists());
    running.stop().await;
}
