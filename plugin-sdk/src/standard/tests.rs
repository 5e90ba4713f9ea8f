use std::collections::BTreeSet;

use super::*;
use crate::{Jitter, Limits, RetryPolicy, configure};

const MINUTE: Duration = Duration::from_secs(60);

/// Three attempts, 1 s and 2 s apart; the tiers 30s and 5m; the labels default and invalid.
fn route() -> Route {
    Route::new("orders")
        .with_retry(RetryPolicy { max_attempts: 3, initial_delay: Duration::from_secs(1), ..RetryPolicy::default() })
        .with_tier("30s", MINUTE / 2)
        .with_tier("5m", 5 * MINUTE)
        .with_dead_letter("default")
        .with_dead_letter("invalid")
}

fn standard(settings: &str) -> Standard {
    configure(settings, &route()).unwrap()
}

fn problems(settings: &str) -> Vec<String> {
    configure::<Standard>(settings, &route()).unwrap_err().iter().map(ToString::to_string).collect()
}

/// The actions after the first, second, … failed attempt.
fn actions(policy: &Standard, kind: &str, attempts: u32) -> Vec<Action> {
    (1..=attempts).map(|attempt| policy.decide(&Failure::new(kind).attempt(attempt)).action).collect()
}

fn tier(name: &str) -> Action {
    Action::DelayTo(name.to_owned())
}

fn label(name: &str) -> Action {
    Action::DeadLetter(Some(name.to_owned()))
}

const RETRIES: [Action; 2] = [Action::Retry(Duration::from_secs(1)), Action::Retry(Duration::from_secs(2))];

#[test]
fn without_settings_it_retries_as_the_route_says_and_then_dead_letters() {
    let [first, second] = RETRIES;
    for settings in ["{}", "null"] {
        let actions = actions(&standard(settings), "timeout", 4);
        assert_eq!(actions, [first.clone(), second.clone(), Action::DeadLetter(None), Action::DeadLetter(None)]);
    }
    let verdict = standard("{}").decide(&Failure::new("timeout").attempt(3));
    assert_eq!(verdict.reason, "attempt 3 of 3 failed");
}

#[test]
fn without_any_retry_settings_the_first_failure_is_the_last() {
    let route = Route::new("orders").with_dead_letter("default");
    let policy: Standard = configure("{}", &route).unwrap();
    assert_eq!(actions(&policy, "timeout", 1), [Action::DeadLetter(None)]);
}

#[test]
fn without_a_default_dead_letter_topic_what_is_exhausted_is_dropped_and_the_reason_says_so() {
    let policy: Standard = configure("{}", &Route::new("orders").with_dead_letter("invalid")).unwrap();
    let verdict = policy.decide(&Failure::new("timeout"));
    assert_eq!(verdict.action, Action::Drop);
    assert_eq!(verdict.reason, "attempt 1 of 1 failed; the route has no default dead-letter topic");
}

#[test]
fn settings_change_single_fields_of_the_routes_retry_settings() {
    let policy = standard(r#"{"retry": {"max_attempts": 2}}"#);
    assert_eq!(actions(&policy, "timeout", 2), [RETRIES[0].clone(), Action::DeadLetter(None)]);
}

#[test]
fn the_seed_of_a_failure_decides_its_jitter() {
    let policy = standard(r#"{"retry": {"jitter": "full"}}"#);
    let verdict = |seed| policy.decide(&Failure::new("timeout").seed(seed));
    assert_eq!(verdict(1), verdict(1));
    assert_ne!(verdict(1), verdict(2));
    assert_eq!(policy.plan.retry.jitter, Jitter::Full);
}

#[test]
fn a_wait_longer_than_a_retry_may_hold_its_slot_is_a_delay() {
    let policy = standard(r#"{"retry": {"initial_delay": "2m", "max_delay": "1h"}}"#);
    assert_eq!(actions(&policy, "timeout", 1), [Action::Delay(2 * MINUTE)]);
}

#[test]
fn where_nothing_can_be_delayed_a_long_wait_is_cut_and_the_reason_says_so() {
    let limits = Limits { max_retry_delay: MINUTE, max_body: 0 };
    let mut route = route().with_limits(limits);
    route.tiers.clear();
    let policy: Standard = configure("{}", &route).unwrap();
    let verdict = policy.decide(&Failure::new("rate-limited").retry_after(5 * MINUTE));
    assert_eq!(verdict.action, Action::Retry(MINUTE));
    assert_eq!(verdict.reason, "attempt 1 of 3 failed; a wait of 5m is cut, because the route has no tiers");
}

#[test]
fn what_the_failing_side_asks_for_is_never_undercut() {
    let policy = standard(r#"{"tiers": ["30s"]}"#);
    let action = |attempt, asked| {
        policy.decide(&Failure::new("rate-limited").attempt(attempt).retry_after(Duration::from_secs(asked))).action
    };
    assert_eq!(action(1, 5), Action::Retry(Duration::from_secs(5)));
    assert_eq!(action(2, 1), RETRIES[1]);
    assert_eq!(action(1, 90), Action::Delay(Duration::from_secs(90)));
    assert_eq!(action(3, 10), tier("30s"));
    assert_eq!(action(3, 90), Action::Delay(Duration::from_secs(90)));
}

#[test]
fn tiers_follow_the_retries_with_one_attempt_after_each() {
    let policy = standard(r#"{"tiers": ["30s", "5m"]}"#);
    let [first, second] = RETRIES;
    assert_eq!(actions(&policy, "x", 5), [first, second, tier("30s"), tier("5m"), Action::DeadLetter(None)]);
    let reason = policy.decide(&Failure::new("x").attempt(4)).reason;
    assert_eq!(reason, "attempt 4 of 5 failed");
}

#[test]
fn a_rule_treats_its_kinds_of_errors_otherwise_and_the_first_that_matches_counts() {
    let policy = standard(
        r#"{
            "tiers": ["30s"],
            "rules": [
                {"kinds": ["validation", "http-4*"], "retry": {"max_attempts": 1}, "tiers": [],
                 "exhausted": {"dead-letter-to": "invalid"}},
                {"kinds": ["http-429"], "exhausted": "drop"},
                {"kinds": ["flaky"], "exhausted": {"delay-to": "5m"}}
            ]
        }"#,
    );
    let [first, second] = RETRIES;
    assert_eq!(actions(&policy, "validation", 1), [label("invalid")]);
    assert_eq!(actions(&policy, "http-429", 1), [label("invalid")]);
    assert_eq!(actions(&policy, "flaky", 5), [first.clone(), second.clone(), tier("30s"), tier("5m"), tier("5m")]);
    assert_eq!(actions(&policy, "other", 4), [first, second, tier("30s"), Action::DeadLetter(None)]);
}

#[test]
fn an_expired_message_never_comes_back() {
    let policy = standard(r#"{"exhausted": {"delay-to": "5m"}}"#);
    assert_eq!(actions(&policy, "expired", 1), [Action::DeadLetter(None)]);

    let mut failure = Failure::new("timeout");
    failure.expires_in = Some(Duration::ZERO);
    assert_eq!(policy.decide(&failure).action, Action::DeadLetter(None));
    failure.expires_in = Some(Duration::from_secs(1));
    let verdict = policy.decide(&failure);
    assert_eq!(verdict, Verdict::dead_letter().because("the message expires before it would be back"));
    failure.expires_in = Some(Duration::from_millis(1001));
    assert_eq!(policy.decide(&failure).action, RETRIES[0]);
}

#[test]
fn an_old_message_is_given_up_whatever_its_attempt() {
    let policy = standard(r#"{"give_up_after": "24h"}"#);
    let action = |hours: u32| policy.decide(&Failure::new("timeout").age(hours * 60 * MINUTE)).action;
    assert_eq!(action(23), RETRIES[0]);
    assert_eq!(action(24), Action::DeadLetter(None));
}

#[test]
fn every_setting_that_does_not_fit_the_route_is_named_with_what_would() {
    let settings = r#"{
        "retry": {"factor": 0.5},
        "tiers": ["30s", "1h"],
        "exhausted": {"delay-to": "2h"},
        "rules": [
            {"kinds": [], "exhausted": {"dead-letter-to": "lost"}},
            {"kinds": ["x"], "retry": {"initial_delay": "1h"}}
        ]
    }"#;
    assert_eq!(
        problems(settings),
        [
            r#"/tiers/1: the route has no tier "1h"; its tiers: 30s, 5m"#,
            r#"/exhausted/delay-to: the route has no tier "2h"; its tiers: 30s, 5m"#,
            r#"/rules/0/kinds: the rule is for no kind of error: name some, such as "timeout" or "http-5*""#,
            r#"/rules/0/exhausted/dead-letter-to: the route has no dead-letter topic labelled "lost"; its labels: default, invalid"#,
            "/rules/1/retry/initial_delay: the first wait of 1h is longer than max_delay, 10s: raise max_delay or lower initial_delay",
            "/retry/factor: the factor is 0.5: give a number from 1 up",
        ]
    );
}

#[test]
fn a_setting_of_the_wrong_type_or_name_is_an_error_that_says_where() {
    for (settings, problem) in [
        (r#"{"retry": {"max_attempts": -1}}"#, "/retry/max_attempts: invalid value: integer `-1`, expected u32"),
        (
            r#"{"rules": [{"kinds": "timeout"}]}"#,
            "/rules/0/kinds: invalid type: string \"timeout\", expected a sequence",
        ),
        (r#"{"rules": [{}]}"#, "/rules/0: missing field `kinds`"),
    ] {
        assert_eq!(problems(settings), [problem]);
    }
    let unknown = problems(r#"{"retry": {"attempts": 3}}"#);
    assert!(unknown[0].starts_with("/retry/attempts: unknown field `attempts`, expected one of"), "{unknown:?}");
    assert_eq!(problems(r#"{"exhausted": 3}"#), ["/exhausted: expected a text, or an object with one member"]);
    let unknown = problems(r#"{"exhausted": "explode"}"#);
    assert!(unknown[0].starts_with("/exhausted: unknown variant `explode`, expected one of"), "{unknown:?}");
}

#[test]
fn the_schema_names_exactly_the_settings_that_there_are() {
    let schema: serde_json::Value = serde_json::from_str(Standard::settings_schema().unwrap()).unwrap();
    let in_schema = |pointer: &str| -> BTreeSet<String> {
        schema.pointer(pointer).unwrap().as_object().unwrap().keys().cloned().collect()
    };
    // The names that serde expects, from the message for one that it does not.
    let expected = |settings: &str| -> BTreeSet<String> {
        let message = problems(settings).remove(0);
        let names = message.split_once("expected one of").unwrap().1;
        names.split(',').map(|name| name.trim().trim_matches('`').to_owned()).collect()
    };
    assert_eq!(in_schema("/properties"), expected(r#"{"?": 0}"#));
    assert_eq!(in_schema("/$defs/retry/properties"), expected(r#"{"retry": {"?": 0}}"#));
    assert_eq!(in_schema("/$defs/rule/properties"), expected(r#"{"rules": [{"?": 0}]}"#));
}

#[test]
fn a_tier_for_ever_does_not_undercut_what_is_asked_for_and_revives_nothing() {
    let policy = standard(r#"{"retry": {"max_attempts": 1}, "exhausted": {"delay-to": "30s"}}"#);
    let failure = Failure::new("http-503").attempt(7);
    assert_eq!(policy.decide(&failure).action, tier("30s"));
    assert_eq!(policy.decide(&failure.clone().retry_after(2 * MINUTE)).action, Action::Delay(2 * MINUTE));
    assert_eq!(policy.decide(&failure.expires_in(MINUTE / 2)).action, Action::DeadLetter(None));
}

#[test]
fn a_wait_that_is_asked_for_is_bounded_and_the_reason_says_so() {
    let failure = Failure::new("http-503").retry_after(Duration::MAX);
    let verdict = standard("{}").decide(&failure);
    assert_eq!(verdict.action, Action::Delay(24 * 60 * MINUTE));
    assert_eq!(verdict.reason, "attempt 1 of 3 failed; 1day of the wait that is asked for are granted");
    assert_eq!(standard(r#"{"max_retry_after": "90s"}"#).decide(&failure).action, Action::Delay(MINUTE * 3 / 2));
    assert_eq!(standard(r#"{"max_retry_after": "0s"}"#).decide(&failure).action, RETRIES[0]);
}

#[test]
fn a_message_that_would_be_too_old_when_it_is_back_is_given_up_at_once() {
    let policy = standard(r#"{"retry": {"max_attempts": 1}, "tiers": ["5m"], "give_up_after": "1h"}"#);
    let verdict = |minutes| policy.decide(&Failure::new("timeout").age(minutes * MINUTE));
    assert_eq!(verdict(55).action, tier("5m"));
    assert_eq!(verdict(56).action, Action::DeadLetter(None));
    assert_eq!(verdict(56).reason, "attempt 1 of 2 failed; after a wait of 5m the message is older than 1h");
}

/// One tier of half an hour, which a wait of two minutes is rounded up to.
fn coarse_route() -> Route {
    let mut route = route();
    route.tiers.clear();
    route.with_tier("30m", 30 * MINUTE)
}

#[test]
fn a_wait_that_is_rounded_up_to_a_tier_counts_for_as_long_as_the_tier() {
    let policy: Standard = configure(r#"{"give_up_after": "1h"}"#, &coarse_route()).unwrap();
    let asking = Failure::new("http-503").retry_after(2 * MINUTE);
    assert_eq!(policy.decide(&asking.clone().age(30 * MINUTE)).action, Action::Delay(2 * MINUTE));
    let too_old = policy.decide(&asking.clone().age(55 * MINUTE));
    assert_eq!(too_old.action, Action::DeadLetter(None));
    assert_eq!(too_old.reason, "attempt 1 of 3 failed; after a wait of 30m the message is older than 1h");

    assert_eq!(policy.decide(&asking.clone().expires_in(31 * MINUTE)).action, Action::Delay(2 * MINUTE));
    let expiring = policy.decide(&asking.expires_in(10 * MINUTE));
    assert_eq!(expiring, Verdict::dead_letter().because("the message expires before it would be back"));
}

#[test]
fn a_wait_that_is_cut_counts_for_as_long_as_it_is_then() {
    let mut route = route();
    route.tiers.clear();
    let policy: Standard = configure("{}", &route).unwrap();
    let asking = Failure::new("http-503").retry_after(10 * MINUTE);
    assert_eq!(policy.decide(&asking.clone().expires_in(5 * MINUTE)).action, Action::Retry(MINUTE));
    assert_eq!(policy.decide(&asking.expires_in(MINUTE)).action, Action::DeadLetter(None));
}

#[test]
fn what_another_policy_gives_up_ends_as_the_settings_or_the_rule_for_its_kind_say() {
    let end = |settings, kind: &str| standard(settings).give_up(&Failure::new(kind), "too late").action;
    let settings = r#"{
        "exhausted": {"dead-letter-to": "invalid"},
        "rules": [{"kinds": ["noise"], "exhausted": "drop"}]
    }"#;
    assert_eq!(end(settings, "timeout"), label("invalid"));
    assert_eq!(end(settings, "noise"), Action::Drop);
    assert_eq!(end("{}", "timeout"), Action::DeadLetter(None));
    assert_eq!(end(r#"{"exhausted": {"delay-to": "5m"}}"#, "timeout"), Action::DeadLetter(None));
}
