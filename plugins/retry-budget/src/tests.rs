use std::collections::BTreeSet;

use proptest::prelude::*;
use reprieve_sdk::{RetryPolicy, configure};

use super::*;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

/// Three attempts, 1 s and 2 s apart; the tiers 30s and 5m.
fn route() -> Route {
    Route::new("orders")
        .with_retry(RetryPolicy { max_attempts: 3, initial_delay: SECOND, ..RetryPolicy::default() })
        .with_tier("30s", 30 * SECOND)
        .with_tier("5m", 5 * MINUTE)
        .with_dead_letter("default")
}

fn policy(settings: &str) -> RetryBudget {
    match configure(settings, &route()) {
        Ok(policy) => policy,
        Err(problems) => panic!("{problems:?}"),
    }
}

fn problems(settings: &str, route: &Route) -> Vec<String> {
    configure::<RetryBudget>(settings, route).err().unwrap().iter().map(ToString::to_string).collect()
}

/// On a route that made so many attempts and retries in the last minute.
fn failure(attempts: u32, retries: u32) -> Failure {
    Failure::new("http-503").health(Health { attempts, retries, ..Health::default() })
}

/// The same after so many failures without a success.
fn in_a_row(consecutive_failures: u32) -> Failure {
    Failure::new("http-503").health(Health { consecutive_failures, ..Health::default() })
}

fn tier(name: &str) -> Action {
    Action::DelayTo(name.to_owned())
}

const RETRY: Action = Action::Retry(SECOND);

#[test]
fn within_the_budget_it_judges_as_the_standard_policy_does() {
    let verdict = policy("{}").decide(&failure(1000, 50));
    assert_eq!(verdict, Verdict::retry(SECOND).because("attempt 1 of 3 failed"));
}

#[test]
fn the_retry_that_would_exceed_the_share_is_a_delay() {
    assert_eq!(policy("{}").decide(&failure(1000, 199)).action, RETRY);
    let verdict = policy("{}").decide(&failure(1000, 200));
    assert_eq!(verdict.action, tier("30s"));
    assert_eq!(
        verdict.reason,
        "attempt 1 of 3 failed; the retry budget is spent: 200 retries for the last minute's 1000 attempts"
    );
    assert_eq!(policy(r#"{"share": 0.5}"#).decide(&failure(1000, 200)).action, RETRY);
}

#[test]
fn a_quiet_route_may_retry_whatever_the_share() {
    assert_eq!(policy("{}").decide(&failure(2, 9)).action, RETRY);
    assert_eq!(policy("{}").decide(&failure(2, 10)).action, tier("30s"));
    assert_eq!(policy(r#"{"min_retries": 0}"#).decide(&failure(1, 0)).action, tier("30s"));
    assert_eq!(policy(r#"{"min_retries": 100, "share": 0}"#).decide(&failure(5000, 99)).action, RETRY);
}

#[test]
fn a_delay_is_never_shorter_than_the_retry_would_have_waited() {
    let asking = |wait| policy("{}").decide(&failure(1000, 900).retry_after(wait)).action;
    assert_eq!(asking(20 * SECOND), tier("30s"));
    assert_eq!(asking(40 * SECOND), Action::Delay(40 * SECOND));
    assert_eq!(policy(r#"{"tier": "5m"}"#).decide(&failure(1000, 900)).action, tier("5m"));
}

#[test]
fn only_retries_in_process_are_on_the_budget() {
    let policy = policy(r#"{"standard": {"tiers": ["5m"]}}"#);
    let spent = failure(1000, 900);
    assert_eq!(policy.decide(&spent.clone().attempt(3)).action, tier("5m"));
    assert_eq!(policy.decide(&spent.clone().attempt(4)).action, Action::DeadLetter(None));
    assert_eq!(policy.decide(&spent.retry_after(2 * MINUTE)).action, Action::Delay(2 * MINUTE));
}

#[test]
fn a_message_that_would_not_live_to_see_the_end_of_a_delay_is_given_up() {
    let spent = failure(1000, 900);
    let verdict = policy("{}").decide(&spent.clone().expires_in(30 * SECOND));
    assert_eq!(verdict.action, Action::DeadLetter(None));
    assert!(verdict.reason.ends_with("the message expires before a delay is over"), "{}", verdict.reason);
    assert_eq!(policy("{}").decide(&spent.clone().expires_in(31 * SECOND)).action, tier("30s"));

    let policy = policy(r#"{"standard": {"give_up_after": "1h"}}"#);
    assert_eq!(policy.decide(&spent.clone().age(60 * MINUTE - 30 * SECOND)).action, tier("30s"));
    assert_eq!(policy.decide(&spent.age(60 * MINUTE - 29 * SECOND)).action, Action::DeadLetter(None));
}

#[test]
fn what_is_given_up_ends_as_the_settings_of_the_standard_policy_say() {
    let mut route = route();
    route.dead_letters = vec!["late".to_owned()];
    let settings = r#"{"standard": {"exhausted": {"dead-letter-to": "late"}, "give_up_after": "1h"}}"#;
    let policy: RetryBudget = configure(settings, &route).ok().unwrap();
    let late = Action::DeadLetter(Some("late".to_owned()));
    let spent = failure(1000, 900);
    assert_eq!(policy.decide(&spent.clone().expires_in(20 * SECOND)).action, late);
    assert_eq!(policy.decide(&spent.age(60 * MINUTE - 20 * SECOND)).action, late);
}

#[test]
fn failures_in_a_row_pause_the_intake_where_the_settings_say_so() {
    assert_eq!(policy("{}").decide(&in_a_row(u32::MAX)).pause_intake, None);
    let policy = policy(r#"{"pause_intake": {"consecutive_failures": 50, "for": "10s"}}"#);
    assert_eq!(policy.decide(&in_a_row(49)).pause_intake, None);
    let verdict = policy.decide(&in_a_row(50));
    assert_eq!(verdict.pause_intake, Some(10 * SECOND));
    assert_eq!(verdict.action, RETRY);
    assert_eq!(verdict.reason, "attempt 1 of 3 failed; 50 failures in a row pause the route's intake for 10s");
    assert_eq!(policy.decide(&in_a_row(50).attempt(3)).pause_intake, None, "what is given up pauses nothing");
}

#[test]
fn every_setting_that_contradicts_another_or_the_route_is_named() {
    let settings = r#"{
        "share": 1.5,
        "tier": "1h",
        "pause_intake": {"consecutive_failures": 0, "for": "0s"},
        "standard": {"tiers": ["2h"]}
    }"#;
    assert_eq!(
        problems(settings, &route()),
        [
            "/share: a share of 1.5 is none: give a number from 0 to 1, such as 0.2 for a fifth",
            "/tier: the route has no tier \"1h\"; its tiers: 30s, 5m",
            "/pause_intake/consecutive_failures: each failure would pause the route: give a number from 1 up",
            "/pause_intake/for: a pause of no length pauses nothing: give one such as \"10s\", or leave pause_intake out",
            "/standard/tiers/0: the route has no tier \"2h\"; its tiers: 30s, 5m",
        ]
    );
    let nothing = problems(r#"{"share": 0, "min_retries": 0}"#, &route());
    assert!(nothing[0].starts_with("/share: with min_retries = 0 "), "{nothing:?}");
    let negative = problems(r#"{"share": -0.1}"#, &route());
    assert!(negative[0].starts_with("/share: "), "{negative:?}");
    assert!(problems(r#"{"pause_intake": {"for": "1s"}}"#, &route())[0].starts_with("/pause_intake: missing field"));
}

#[test]
fn a_route_without_tiers_is_refused_with_the_cure() {
    let problems = problems("{}", &Route::new("orders"));
    assert_eq!(problems.len(), 1);
    assert!(problems[0].contains("give it some in the configuration"), "{problems:?}");
}

#[test]
fn the_schema_names_exactly_the_settings_that_there_are() {
    let schema: serde_json::Value = serde_json::from_str(RetryBudget::settings_schema().unwrap()).unwrap();
    let in_schema = |pointer: &str| -> BTreeSet<String> {
        schema.pointer(pointer).unwrap().as_object().unwrap().keys().cloned().collect()
    };
    // The names that serde expects stand in backquotes in the message for one that it does not, after that one.
    let expected = |settings: &str| -> BTreeSet<String> {
        let message = problems(settings, &route()).remove(0);
        let names = message.split_once("expected ").unwrap().1;
        names.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    };
    assert_eq!(in_schema("/properties"), expected(r#"{"?": 0}"#));
    assert_eq!(in_schema("/properties/pause_intake/properties"), expected(r#"{"pause_intake": {"?": 0}}"#));
}

proptest! {
    #[test]
    fn a_retry_in_process_never_exceeds_the_budget(
        attempts in any::<u32>(),
        retries in any::<u32>(),
        share in 0.0f64..=1.0,
        min_retries in 1u32..100,
    ) {
        let policy = policy(&format!(r#"{{"share": {share}, "min_retries": {min_retries}}}"#));
        let within = u64::from(retries) < u64::from(min_retries)
            || f64::from(retries) + 1.0 <= share * f64::from(attempts);
        let action = policy.decide(&failure(attempts, retries)).action;
        prop_assert_eq!(action, if within { RETRY } else { tier("30s") });
    }

    #[test]
    fn a_message_never_comes_back_sooner_than_by_the_standard_policy(
        attempts in 0u32..1000,
        retries in 0u32..1000,
        attempt in 1u32..5,
        wait in proptest::option::of(0u64..2_000_000),
    ) {
        let mut failure = failure(attempts, retries).attempt(attempt);
        failure.error.retry_after = wait.map(Duration::from_millis);
        let away = |action| match action {
            Action::Retry(wait) | Action::Delay(wait) => Some(wait),
            Action::DelayTo(name) => route().tiers.into_iter().find(|tier| tier.name == name).map(|tier| tier.delay),
            _ => None,
        };
        let standard: Standard = configure("{}", &route()).unwrap();
        let (here, there) = (policy("{}").decide(&failure).action, standard.decide(&failure).action);
        prop_assert!(away(here) >= away(there));
    }
}
