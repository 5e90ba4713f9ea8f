use std::collections::BTreeSet;
use std::time::Duration;

use reprieve_sdk::{Action, configure};

use super::*;

fn route() -> Route {
    Route::new("orders")
        .with_dead_letter("default")
        .with_dead_letter("invalid")
        .with_tier("30s", Duration::from_secs(30))
}

fn policy(settings: &str, route: &Route) -> ByErrorKind {
    match configure(settings, route) {
        Ok(policy) => policy,
        Err(problems) => panic!("{problems:?}"),
    }
}

fn judge(failure: &Failure) -> Action {
    policy("{}", &route()).decide(failure).action
}

#[test]
fn an_invalid_message_is_parked_at_once_in_its_own_topic() {
    let invalid = Action::DeadLetter(Some("invalid".to_owned()));
    assert_eq!(judge(&Failure::new("validation")), invalid);
    assert_eq!(judge(&Failure::new("validation-schema")), invalid);
}

#[test]
fn where_there_is_no_topic_for_invalid_messages_the_default_one_is_used() {
    let route = Route::new("orders").with_dead_letter("default");
    assert_eq!(policy("{}", &route).decide(&Failure::new("validation")).action, Action::DeadLetter(None));
}

#[test]
fn time_outs_are_retried_in_process_then_delayed_then_given_up() {
    let action = |attempt| judge(&Failure::new("timeout").attempt(attempt));
    assert_eq!(action(1), Action::Retry(Duration::from_secs(1)));
    assert_eq!(action(2), Action::Retry(Duration::from_secs(1)));
    assert_eq!(action(3), Action::Delay(Duration::from_secs(30)));
    assert_eq!(action(9), Action::Delay(Duration::from_secs(30)));
    assert_eq!(action(10), Action::DeadLetter(None));
}

#[test]
fn a_rate_limit_is_given_the_time_that_it_asks_for() {
    let limited = Failure::new("http-429").status(429);
    assert_eq!(judge(&limited.clone().retry_after(Duration::from_secs(90))), Action::Delay(Duration::from_secs(90)));
    assert_eq!(judge(&limited), Action::Delay(Duration::from_secs(30)));
    assert_eq!(judge(&Failure::new("rate-limited").attempt(10)), Action::DeadLetter(None));
}

#[test]
fn every_other_error_is_left_to_the_standard_policy() {
    let policy = policy(r#"{"standard": {"retry": {"max_attempts": 2}}}"#, &route());
    let failure = Failure::new("http-500").status(500);
    assert_eq!(policy.decide(&failure).action, Action::Retry(Duration::from_millis(100)));
    assert_eq!(policy.decide(&failure.attempt(2)).action, Action::DeadLetter(None));
}

#[test]
fn an_old_message_is_given_up_whatever_the_error() {
    let policy = policy(r#"{"give_up_after": "24h"}"#, &route());
    for kind in ["timeout", "rate-limited", "http-500"] {
        let failure = Failure::new(kind).age(Duration::from_secs(25 * 3600));
        assert_eq!(policy.decide(&failure).action, Action::DeadLetter(None), "{kind}");
    }
}

#[test]
fn a_wrong_setting_is_named() {
    let problems = configure::<ByErrorKind>(r#"{"delay": "soon"}"#, &route()).err().unwrap();
    assert_eq!(problems[0].path, "/delay");
}

#[test]
fn the_schema_names_exactly_the_settings_that_there_are() {
    let schema: serde_json::Value = serde_json::from_str(ByErrorKind::settings_schema().unwrap()).unwrap();
    let in_schema: BTreeSet<&str> = schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
    let message = configure::<ByErrorKind>(r#"{"?": 0}"#, &route()).err().unwrap().remove(0).message;
    let names = message.split_once("expected one of").unwrap().1;
    let expected: BTreeSet<&str> = names.split(',').map(|name| name.trim().trim_matches('`')).collect();
    assert_eq!(in_schema, expected);
}
