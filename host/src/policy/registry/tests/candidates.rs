//! Candidates: tried beside the live policy, promoted, and taken back for good.

use std::sync::Arc;

use serde_json::json;

use super::support::{Place, Running, digest, policy, route, until};
use crate::event::CandidateStep;
use crate::failure::Failure;
use crate::policy::candidate::{CandidateMode, CandidatePlan};
use crate::policy::registry::{CandidateAction, PolicySettings, RoutePolicy};
use crate::policy::status::{CandidateStatus, Source};
use crate::policy::trust::Trust;
use crate::policy::trust::signing::Signer;

fn orders(candidate: CandidatePlan) -> RoutePolicy {
    RoutePolicy { candidate, ..route("orders", Some("orders")) }
}

fn canary() -> CandidatePlan {
    CandidatePlan { mode: CandidateMode::Canary, share: 1.0, ..CandidatePlan::default() }
}

fn failure(id: &str) -> Arc<Failure> {
    Arc::new(Failure::from_written(&json!({ "message": { "id": id }, "error": "timeout" })).unwrap())
}

fn candidate(running: &Running) -> Option<CandidateStatus> {
    running.route("orders").candidate
}

async fn steer(running: &Running, action: CandidateAction) -> Result<String, String> {
    running.policies.steer("orders", action).await
}

/// A place with a first policy, and a second one as its candidate.
fn place() -> Place {
    let place = Place::new();
    place.install("orders", &policy(1));
    place.install("orders.next", &policy(2));
    place
}

#[tokio::test]
async fn a_file_that_is_only_put_there_is_a_shadow_and_judges_nothing() {
    let place = place();
    let mut running = place.start(vec![orders(CandidatePlan::default())]).await;
    let handle = running.policies.handle("orders").unwrap();
    let decision = handle.decide(failure("1")).await;
    assert_eq!(decision.maker.unwrap().policy, "orders");
    until("the shadow's answer", || candidate(&running).is_some_and(|it| it.tally.decisions == 1)).await;
    let status = candidate(&running).unwrap();
    assert_eq!((status.plan.mode, status.tally.same), (CandidateMode::Shadow, 1));
    assert_eq!(status.file_digest, digest(&policy(2)));
    assert!(running.runs("orders", &policy(1)));

    std::fs::remove_file(place.file("orders.next")).unwrap();
    until("the end of the trial", || candidate(&running).is_none()).await;
    assert_eq!(running.steps(), [CandidateStep::Began, CandidateStep::Withdrawn]);
    running.stop().await;
}

#[tokio::test]
async fn a_canary_judges_its_share_under_its_own_name() {
    let running = place().start(vec![orders(canary())]).await;
    let handle = running.policies.handle("orders").unwrap();
    assert_eq!(handle.decide(failure("1")).await.maker.unwrap().policy, "orders.next");
    let tally = candidate(&running).unwrap().tally;
    assert_eq!((tally.decisions, tally.same), (1, 1), "the live policy was asked for comparison");
    running.stop().await;
}

#[tokio::test]
async fn a_canary_is_promoted_after_enough_decisions_and_stays_live_over_a_restart() {
    let place = place();
    let plan = CandidatePlan { promote_after: Some(3), ..canary() };
    let mut running = place.start(vec![orders(plan.clone())]).await;
    let handle = running.policies.handle("orders").unwrap();
    for id in 0..3 {
        handle.decide(failure(&id.to_string())).await;
    }
    running.until_runs("orders", &policy(2)).await;
    until("its end as a candidate", || candidate(&running).is_none()).await;
    assert_eq!(handle.decide(failure("4")).await.maker.unwrap().policy, "orders");
    assert_eq!(running.steps(), [CandidateStep::Began, CandidateStep::Promoted]);
    assert_eq!(running.source("orders"), Some(Source::Promoted));
    let scans = running.scans();
    place.install("unrelated", &policy(9));
    running.until_quiet_after(scans).await;
    assert!(running.runs("orders", &policy(2)), "the older file in the folder is not taken");
    running.stop().await;

    let running = place.start(vec![orders(plan)]).await;
    assert!(running.runs("orders", &policy(2)));
    assert_eq!((running.error("orders"), candidate(&running).is_none()), (None, true));
    place.install("orders", &policy(3));
    running.until_runs("orders", &policy(3)).await;
    running.stop().await;
}

#[tokio::test]
async fn what_is_rolled_back_is_not_taken_again_in_any_place() {
    let place = place();
    let mut running = place.start(vec![orders(canary())]).await;
    let said = steer(&running, CandidateAction::RollBack).await.unwrap();
    assert!(said.contains("orders.next@") && candidate(&running).is_none(), "{said}");
    assert_eq!(running.steps(), [CandidateStep::Began, CandidateStep::RolledBack]);
    let scans = running.scans();
    place.install("unrelated", &policy(9));
    running.until_quiet_after(scans).await;
    assert!(candidate(&running).is_none());
    running.stop().await;

    let running = place.start(vec![orders(canary())]).await;
    assert!(candidate(&running).is_none());
    let error = running.route("orders").candidate_error.unwrap().text;
    assert!(error.contains("this very file was rolled back at") && error.contains("by hand"), "{error}");
    place.install("orders", &policy(2));
    running.until_error("orders", "this very file was rolled back").await;
    assert!(running.runs("orders", &policy(1)));
    place.install("orders.next", &policy(3));
    until("another candidate", || candidate(&running).is_some()).await;
    running.stop().await;
}

#[tokio::test]
async fn a_live_policy_that_is_rolled_back_gives_way_to_the_version_before_also_over_a_restart() {
    let place = Place::new();
    place.install("orders", &policy(1));
    let running = place.start(vec![orders(CandidatePlan::default())]).await;
    let error = steer(&running, CandidateAction::RollBack).await.unwrap_err();
    assert!(error.contains("there is no version before orders@"), "{error}");
    place.install("orders", &policy(2));
    running.until_runs("orders", &policy(2)).await;
    steer(&running, CandidateAction::RollBack).await.unwrap();
    assert!(running.runs("orders", &policy(1)), "from the state folder");
    let scans = running.scans();
    place.install("unrelated", &policy(9));
    running.until_quiet_after(scans).await;
    assert!(running.runs("orders", &policy(1)));
    running.stop().await;

    let running = place.start(vec![orders(CandidatePlan::default())]).await;
    assert!(running.runs("orders", &policy(1)));
    assert!(running.error("orders").unwrap().contains("this very file was rolled back"));
    place.install("orders", &policy(3));
    running.until_runs("orders", &policy(3)).await;
    assert_eq!(running.error("orders"), None);
    running.stop().await;
}

#[tokio::test]
async fn a_promoted_policy_that_is_rolled_back_gives_way_to_the_file_in_the_folder() {
    let place = place();
    let running = place.start(vec![orders(canary())]).await;
    steer(&running, CandidateAction::Promote).await.unwrap();
    assert!(running.runs("orders", &policy(2)));
    steer(&running, CandidateAction::RollBack).await.unwrap();
    assert!(running.runs("orders", &policy(1)));
    let scans = running.scans();
    place.install("unrelated", &policy(9));
    running.until_quiet_after(scans).await;
    assert!(running.runs("orders", &policy(1)) && candidate(&running).is_none());
    running.stop().await;
}

#[tokio::test]
async fn a_held_canary_is_not_promoted_before_it_is_let_go_on() {
    let plan = CandidatePlan { promote_after: Some(1), ..canary() };
    let place = Place::new();
    place.install("orders", &policy(1));
    let mut running = place.start(vec![orders(plan)]).await;
    let error = steer(&running, CandidateAction::Hold).await.unwrap_err();
    assert!(error.contains("orders.next.wasm"), "{error}");
    place.install("orders.next", &policy(2));
    until("the candidate", || candidate(&running).is_some()).await;
    steer(&running, CandidateAction::Hold).await.unwrap();
    running.policies.handle("orders").unwrap().decide(failure("1")).await;
    assert!(candidate(&running).is_some_and(|it| it.held && it.tally.decisions == 1));
    steer(&running, CandidateAction::Resume).await.unwrap();
    running.until_runs("orders", &policy(2)).await;
    let wanted = [CandidateStep::Began, CandidateStep::Held, CandidateStep::Resumed, CandidateStep::Promoted];
    assert_eq!(running.steps(), wanted);
    running.stop().await;
}

#[tokio::test]
async fn a_candidate_that_cannot_be_loaded_is_told_with_its_reason_and_changes_nothing() {
    let place = Place::new();
    place.install("orders", &policy(1));
    std::fs::write(place.file("orders.next"), "not a policy").unwrap();
    let mut running = place.start(vec![orders(canary())]).await;
    let error = running.route("orders").candidate_error.unwrap().text;
    assert!(error.contains("orders.next.wasm"), "{error}");
    assert_eq!(running.steps(), [CandidateStep::Rejected]);
    assert_eq!((candidate(&running).is_none(), running.error("orders")), (true, None));
    running.stop().await;
}

#[tokio::test]
async fn another_plan_begins_the_trial_anew_and_does_not_touch_the_live_policy() {
    let place = place();
    let mut running = place.start(vec![orders(CandidatePlan::default())]).await;
    running.policies.handle("orders").unwrap().decide(failure("1")).await;
    running.reconfigure(vec![orders(canary())]).await;
    let status = candidate(&running).unwrap();
    assert_eq!((status.plan.mode, status.tally.decisions), (CandidateMode::Canary, 0));
    assert_eq!(running.swaps(), 1, "the first load alone");
    running.stop().await;
}

#[tokio::test]
async fn who_asks_for_a_route_that_is_not_there_is_told_which_are() {
    let running = Place::new().start(vec![route("orders", None)]).await;
    let error = running.policies.steer("order", CandidateAction::Promote).await.unwrap_err();
    assert!(error.contains("this host has orders"), "{error}");
    running.stop().await;
}

#[tokio::test]
async fn going_back_twice_goes_back_two_versions_and_never_to_one_that_was_taken_back() {
    let place = Place::new();
    place.install("orders", &policy(1));
    let running = place.start(vec![orders(CandidatePlan::default())]).await;
    for number in [2, 3] {
        place.install("orders", &policy(number));
        running.until_runs("orders", &policy(number)).await;
    }
    steer(&running, CandidateAction::RollBack).await.unwrap();
    assert!(running.runs("orders", &policy(2)));
    steer(&running, CandidateAction::RollBack).await.unwrap();
    assert!(running.runs("orders", &policy(1)));
    let error = steer(&running, CandidateAction::RollBack).await.unwrap_err();
    assert!(error.contains("there is no version before orders@"), "{error}");
    assert!(running.runs("orders", &policy(1)));
    running.stop().await;
}

#[tokio::test]
async fn a_candidate_that_was_promoted_is_not_tried_again_against_what_came_after_it() {
    let place = place();
    let running = place.start(vec![orders(CandidatePlan { promote_after: Some(1), ..canary() })]).await;
    let handle = running.policies.handle("orders").unwrap();
    handle.decide(failure("1")).await;
    running.until_runs("orders", &policy(2)).await;
    // The candidate's file is still there when the next version is put in the route's place.
    place.install("orders", &policy(3));
    running.until_runs("orders", &policy(3)).await;
    let told = || running.route("orders").candidate_error.is_some_and(|error| error.text.contains("was promoted"));
    until("why it is not tried", told).await;
    assert_eq!(handle.decide(failure("2")).await.maker.unwrap().policy, "orders");
    assert!(running.runs("orders", &policy(3)) && candidate(&running).is_none());
    running.stop().await;
}

#[tokio::test]
async fn a_candidate_is_tried_once_its_signature_has_come_and_no_longer_than_it_is_trusted() {
    let signer = Signer::new(1);
    let place = Place::new();
    let sign = |policy: &str, bytes: &[u8]| {
        std::fs::write(place.folder().join(format!("{policy}.wasm.minisig")), signer.sign(bytes)).unwrap();
    };
    sign("orders", &policy(1));
    place.install("orders", &policy(1));
    let trust = Trust { public_keys: Some(vec![signer.public_key().parse().unwrap()]), ..Trust::default() };
    let settings = PolicySettings { trust: trust.clone(), ..place.settings() };
    let mut running = Running::start(settings, vec![orders(canary())]).await;
    place.install("orders.next", &policy(2));
    until("the refusal", || running.route("orders").candidate_error.is_some()).await;
    sign("orders.next", &policy(2));
    until("the trial", || candidate(&running).is_some()).await;
    assert!(running.route("orders").candidate_error.is_none());

    let nobody = Trust { public_keys: Some(Vec::new()), ..Trust::default() };
    running.policies.reconfigure(nobody, vec![orders(canary())]).await;
    assert!(candidate(&running).is_none(), "what is not trusted judges nothing");
    assert_eq!(running.policies.handle("orders").unwrap().decide(failure("1")).await.maker.unwrap().policy, "orders");
    assert!(running.route("orders").candidate_error.is_some());
    let wanted = [CandidateStep::Rejected, CandidateStep::Began, CandidateStep::Withdrawn, CandidateStep::Rejected];
    assert_eq!(running.steps(), wanted);
    running.stop().await;
}

#[tokio::test]
async fn a_promotion_that_cannot_be_kept_is_tried_again_with_the_next_scan_and_not_with_each_decision() {
    let place = place();
    let running = place.start(vec![orders(CandidatePlan { promote_after: Some(1), ..canary() })]).await;
    let handle = running.policies.handle("orders").unwrap();
    // A file where the route's folder should be.
    let kept = place.state().join("policies");
    std::fs::rename(&kept, place.elsewhere().join("policies")).unwrap();
    std::fs::write(&kept, "in the way").unwrap();
    handle.decide(failure("1")).await;
    let why = || running.route("orders").candidate_error.is_some_and(|error| error.text.contains("not promoted"));
    until("the failure", why).await;
    assert_eq!(handle.decide(failure("2")).await.maker.unwrap().policy, "orders.next");
    assert!(running.runs("orders", &policy(1)));

    std::fs::remove_file(&kept).unwrap();
    std::fs::rename(place.elsewhere().join("policies"), &kept).unwrap();
    let scans = running.scans();
    place.install("unrelated", &policy(9));
    running.until_quiet_after(scans).await;
    running.until_runs("orders", &policy(2)).await;
    until("the end of the trial", || candidate(&running).is_none()).await;
    assert!(running.route("orders").candidate_error.is_none());
    running.stop().await;
}
