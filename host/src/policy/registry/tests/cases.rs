//! Policies that carry cases: one that fails its own never goes live.

use serde_json::json;
use wasm_encoder::{CustomSection, Section};

use super::support::{Place, policy, route};
use crate::policy::cases::section::CASES_SECTION;

/// A policy that always retries, and that carries a case which expects this action.
fn expecting(number: u8, action: &str) -> Vec<u8> {
    let table = json!({ "case": [{ "name": "what it does", "expect": { "action": action } }] });
    let mut file = policy(number);
    let data = json!([table]).to_string().into_bytes();
    CustomSection { name: CASES_SECTION.into(), data: data.into() }.append_to(&mut file);
    file
}

#[tokio::test]
async fn a_policy_that_fails_its_own_case_is_refused_by_name_and_the_one_before_judges_on() {
    let place = Place::new();
    place.install("orders", &expecting(1, "retry"));
    let mut running = place.start(vec![route("orders", Some("orders"))]).await;
    assert!(running.runs("orders", &expecting(1, "retry")));

    place.install("orders", &expecting(2, "drop"));
    let told = "the policy fails its own case \"what it does\": action is retry, expected drop";
    running.until_error("orders", told).await;
    assert!(running.runs("orders", &expecting(1, "retry")));

    place.install("orders", &expecting(3, "retry"));
    running.until_runs("orders", &expecting(3, "retry")).await;
    assert_eq!(running.error("orders"), None);
    assert_eq!(running.swaps(), 2);
    running.stop().await;
}
