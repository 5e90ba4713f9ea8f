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

fn label(name: &str) -> Action {
    Action::DeadLetter(Some(name.to_owned()))
}

fn judge(failure: &Failure) -> Action {
    policy("{}", &route()).decide(failure).action
}

#[test]
fn an_invalid_message_is_parked_at_once_in_its_own_topic() {
    assert_eq!(judge(&Failure::new("validation")), label("invalid"));
    assert_eq!(judge(&Failure::new("validation-schema")), label("invalid"));
}

#[test]
fn where_there_is_no_topic_for_invalid_messages_the_default_one_is_used() {
    let route = Route::new("orders").with_dead_letter("default");
    let policy = policy(r#"{"standard": {"exhausted": "drop"}}"#, &route);
    assert_eq!(policy.decide(&Failure::new("validation")).action, label("default"));
}

#[test]
fn what_is_given_up_ends_as_the_settings_of_the_standard_policy_say() {
    let route = Route::new("orders").with_dead_letter("late").with_tier("30s", Duration::from_secs(30));
    let settings = r#"{"give_up_after": "1h", "standard": {"exhausted": {"dead-letter-to": "late"}}}"#;
    let policy = policy(settings, &route);
    for failure in [
        Failure::new("timeout").attempt(10),
        Failure::new("rate-limited").expires_in(Duration::from_secs(20)),
        Failure::new("rate-limited").age(Duration::from_secs(3600)),
        Failure::new("validation"),
    ] {
        assert_eq!(policy.decide(&failure).action, label("late"), "{failure:?}");
    }
}

#[test]
fn a_wait_that_is_rounded_up_to_a_tier_counts_for_as_long_as_the_tier() {
    let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
    let route = Route::new("orders").with_dead_letter("default").with_tier("30m", minutes(30));
    let policy = policy(r#"{"give_up_after": "1h"}"#, &route);
    for kind in ["rate-limited", "timeout"] {
        let asking = Failure::new(kind).attempt(3).retry_after(minutes(2));
        assert_eq!(policy.decide(&asking.clone().age(minutes(30))).action, Action::Delay(minutes(2)), "{kind}");
        assert_eq!(policy.decide(&asking.clone().age(minutes(55))).action, Action::DeadLetter(None), "{kind}");
        assert_eq!(policy.decide(&asking.expires_in(minutes(10))).action, Action::DeadLetter(None), "{kind}");
    }
    let asking = Failure::new("timeout").retry_after(minutes(2));
    assert_eq!(policy.decide(&asking.expires_in(minutes(10))).action, Action::DeadLetter(None), "a retry too long");
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
fn what_a_failing_side_asks_for_is_never_undercut_and_bounded() {
    let day = Duration::from_secs(24 * 3600);
    for (kind, status) in [("http-429", 429), ("http-503", 503)] {
        let policy = policy(r#"{"standard": {"retry": {"max_attempts": 2}}}"#, &route());
        let asking = |wait| policy.decide(&Failure::new(kind).status(status).retry_after(wait)).action;
        assert_eq!(asking(Duration::MAX), Action::Delay(day), "{kind}");
    }
    let timed_out = |wait| judge(&Failure::new("timeout").retry_after(Duration::from_secs(wait)));
    assert_eq!(timed_out(7), Action::Retry(Duration::from_secs(7)));
    assert_eq!(timed_out(0), Action::Retry(Duration::from_secs(1)));

    let patient = policy(r#"{"standard": {"max_retry_after": "10m", "retry": {"max_attempts": 2}}}"#, &route());
    for kind in ["rate-limited", "http-503"] {
        let failure = Failure::new(kind).retry_after(day);
        assert_eq!(patient.decide(&failure).action, Action::Delay(Duration::from_secs(600)), "{kind}");
    }
}

#[test]
fn a_message_that_would_not_live_to_see_the_next_attempt_is_given_up() {
    let failure = Failure::new("timeout").expires_in(Duration::from_secs(1));
    assert_eq!(judge(&failure), Action::DeadLetter(None));
    assert_eq!(judge(&failure.expires_in(Duration::from_secs(2))), Action::Retry(Duration::from_secs(1)));

    let policy = policy(r#"{"give_up_after": "1h"}"#, &route());
    let limited = Failure::new("rate-limited").retry_after(Duration::from_secs(1800));
    assert_eq!(policy.decide(&limited).action, Action::Delay(Duration::from_secs(1800)));
    // At just this age it gets its last attempt, as with the standard policy.
    let at = |age| policy.decide(&limited.clone().age(age)).action;
    assert_eq!(at(Duration::from_secs(1800)), Action::Delay(Duration::from_secs(1800)));
    assert_eq!(at(Duration::from_secs(1801)), Action::DeadLetter(None));
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
