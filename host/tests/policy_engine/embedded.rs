//! The built policies that the program carries, run as the program runs them.

use reprieve::policy::embedded::STANDARD;
use reprieve::policy::engine::{Revision, Start};
use reprieve::verdict::Action;
use serde_json::{Value, json};

use crate::support::{failure, load};

const BY_ERROR_KIND: &[u8] = include_bytes!("../../policies/by-error-kind.wasm");

fn action(revision: &Revision, kind: &str, attempt: u32) -> Action {
    let failure = reprieve::failure::Failure { attempt, ..failure(kind) };
    revision.decide(&failure).unwrap().action
}

#[test]
fn the_standard_policy_retries_as_the_route_says_and_then_dead_letters() {
    for settings in [json!({}), Value::Null] {
        let revision = load(STANDARD, &settings).unwrap();
        assert_eq!(revision.start(), Start::Snapshot);
        let waits = [100, 200, 400, 800].map(|delay_ms| Action::Retry { delay_ms });
        assert_eq!([1, 2, 3, 4].map(|attempt| action(&revision, "timeout", attempt)), waits);
        assert_eq!(action(&revision, "timeout", 5), Action::DeadLetter { label: None });
    }
}

#[test]
fn the_standard_policy_follows_its_settings() {
    let revision = load(STANDARD, &json!({ "retry": { "max_attempts": 1 }, "tiers": ["30s"] })).unwrap();
    assert_eq!(action(&revision, "timeout", 1), Action::DelayTo { tier: "30s".to_owned() });
    assert_eq!(action(&revision, "timeout", 2), Action::DeadLetter { label: None });
    assert_eq!(action(&revision, "expired", 1), Action::DeadLetter { label: None });
}

#[test]
fn settings_that_do_not_fit_the_route_are_refused_with_their_place() {
    let rejection = load(STANDARD, &json!({ "tiers": ["1h"] })).unwrap_err().to_string();
    assert!(rejection.contains(r#"/tiers/0: the route has no tier "1h"; its tiers: 30s"#), "{rejection}");
}

#[test]
fn by_error_kind_tells_errors_apart() {
    let revision = load(BY_ERROR_KIND, &json!({})).unwrap();
    assert_eq!(revision.start(), Start::Snapshot);
    assert_eq!(action(&revision, "validation", 1), Action::DeadLetter { label: Some("invalid".to_owned()) });
    assert_eq!(action(&revision, "timeout", 1), Action::Retry { delay_ms: 1000 });
    assert_eq!(action(&revision, "timeout", 3), Action::Delay { delay_ms: 30_000 });
    assert_eq!(action(&revision, "rate-limited", 1), Action::Delay { delay_ms: 30_000 });
    assert_eq!(action(&revision, "http-500", 1), Action::Retry { delay_ms: 100 });
}
