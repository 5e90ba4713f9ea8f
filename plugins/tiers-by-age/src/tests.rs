use std::collections::BTreeSet;

use proptest::prelude::*;
use reprieve_sdk::{Action, configure};

use super::*;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

/// The tiers 30s, 5m and 30m; the labels default and late; two attempts in process, a second apart.
fn route() -> Route {
    Route::new("orders")
        .with_tier("30s", 30 * SECOND)
        .with_tier("5m", 5 * MINUTE)
        .with_tier("30m", 30 * MINUTE)
        .with_dead_letter("default")
        .with_dead_letter("late")
        .with_retry(RetryPolicy { max_attempts: 2, initial_delay: SECOND, ..RetryPolicy::default() })
}

fn policy(settings: &str) -> TiersByAge {
    match configure(settings, &route()) {
        Ok(policy) => policy,
        Err(problems) => panic!("{problems:?}"),
    }
}

fn problems(settings: &str, route: &Route) -> Vec<String> {
    configure::<TiersByAge>(settings, route).err().unwrap().iter().map(ToString::to_string).collect()
}

/// Past the attempts in process.
fn failure() -> Failure {
    Failure::new("http-503").attempt(3)
}

fn tier(name: &str) -> Action {
    Action::DelayTo(name.to_owned())
}

const DEAD_LETTER: Action = Action::DeadLetter(None);

#[test]
fn the_first_attempts_are_in_process_as_the_route_says() {
    let verdict = policy("{}").decide(&Failure::new("timeout"));
    assert_eq!(verdict, Verdict::retry(SECOND).because("attempt 1 of 2 in process failed"));
    assert_eq!(policy("{}").decide(&Failure::new("timeout").attempt(2)).action, tier("30s"));
    let none = policy(r#"{"retry": {"max_attempts": 0}}"#);
    assert_eq!(none.decide(&Failure::new("timeout")).action, tier("30s"));
}

#[test]
fn a_wait_that_may_not_hold_its_slot_goes_through_a_tier() {
    let policy = policy(r#"{"retry": {"initial_delay": "2m", "max_delay": "1h"}}"#);
    assert_eq!(policy.decide(&Failure::new("timeout")).action, tier("30s"));
}

#[test]
fn a_message_goes_through_the_longest_tier_that_is_no_longer_than_it_is_old() {
    let policy = policy("{}");
    for (age, expected) in [
        (Duration::ZERO, "30s"),
        (5 * MINUTE - SECOND, "30s"),
        (5 * MINUTE, "5m"),
        (30 * MINUTE - SECOND, "5m"),
        (30 * MINUTE, "30m"),
        (20 * HOUR, "30m"),
    ] {
        assert_eq!(policy.decide(&failure().age(age)).action, tier(expected), "{age:?}");
    }
    assert_eq!(policy.decide(&failure().age(7 * MINUTE)).reason, "the message is 7m old, of 1day");
}

#[test]
fn steps_say_otherwise_which_tier_is_for_which_age() {
    let policy = policy(r#"{"steps": [{"tier": "5m"}, {"from": "2h", "tier": "30m"}]}"#);
    assert_eq!(policy.decide(&failure()).action, tier("5m"));
    assert_eq!(policy.decide(&failure().age(2 * HOUR - SECOND)).action, tier("5m"));
    assert_eq!(policy.decide(&failure().age(2 * HOUR)).action, tier("30m"));
}

#[test]
fn near_the_deadline_shorter_tiers_are_taken_and_then_none() {
    let verdict = |left| policy("{}").decide(&failure().age(24 * HOUR - left));
    assert_eq!(verdict(30 * MINUTE).action, tier("30m"));
    assert_eq!(verdict(30 * MINUTE - SECOND).action, tier("5m"));
    assert_eq!(verdict(5 * MINUTE - SECOND).action, tier("30s"));
    assert_eq!(verdict(30 * SECOND).action, tier("30s"));
    assert_eq!(verdict(29 * SECOND).action, DEAD_LETTER);
    assert_eq!(verdict(Duration::ZERO).action, DEAD_LETTER);

    assert_eq!(verdict(20 * MINUTE).reason, "the message is 23h 40m old, and 30m would end past the deadline of 1day");
    assert_eq!(
        verdict(29 * SECOND).reason,
        "the message is 23h 59m 31s old, and every tier would end past the deadline of 1day"
    );
    assert_eq!(verdict(Duration::ZERO).reason, "the message is 1day old, and its deadline 1day");
}

#[test]
fn what_the_failing_side_asks_for_is_never_undercut_nor_waited_for_past_the_deadline() {
    let verdict = |age, wait| policy("{}").decide(&failure().age(age).retry_after(wait));
    assert_eq!(verdict(Duration::ZERO, 20 * SECOND).action, tier("30s"));
    assert_eq!(verdict(Duration::ZERO, 2 * MINUTE).action, Action::Delay(2 * MINUTE));
    assert_eq!(verdict(23 * HOUR, HOUR).action, Action::Delay(HOUR));
    // Two hops of half an hour, and one more for the last minute.
    assert_eq!(verdict(23 * HOUR, 59 * MINUTE).action, Action::Delay(59 * MINUTE));
    assert_eq!(verdict(23 * HOUR + 30 * MINUTE, 6 * MINUTE).action, tier("30m"));
    assert_eq!(verdict(23 * HOUR + 40 * MINUTE, 6 * MINUTE).action, DEAD_LETTER);
    let verdict = verdict(Duration::ZERO, 48 * HOUR);
    assert_eq!(verdict.action, DEAD_LETTER);
    assert_eq!(verdict.reason, "the failing side asks for 2days, which ends past the deadline of 1day");
}

#[test]
fn a_retry_in_process_waits_for_what_is_asked_too() {
    let verdict = |wait| policy("{}").decide(&Failure::new("http-429").retry_after(wait));
    assert_eq!(verdict(10 * SECOND).action, Action::Retry(10 * SECOND));
    assert_eq!(verdict(90 * SECOND).action, Action::Delay(90 * SECOND));
}

#[test]
fn the_messages_own_expiry_counts_where_it_comes_first() {
    let verdict = |left| policy("{}").decide(&failure().age(HOUR).expires_in(left));
    assert_eq!(verdict(31 * MINUTE).action, tier("30m"));
    assert_eq!(verdict(30 * MINUTE).action, tier("5m"));
    assert_eq!(verdict(30 * MINUTE).reason, "the message is 1h old, and 30m would end past its expiry in 30m");
    assert_eq!(verdict(Duration::ZERO).reason, "the message has expired");
    assert_eq!(verdict(Duration::ZERO).action, DEAD_LETTER);
}

#[test]
fn what_is_out_of_time_goes_to_the_label_that_the_settings_name() {
    let policy = policy(r#"{"expired": "late", "deadline": "1h"}"#);
    let late = Action::DeadLetter(Some("late".to_owned()));
    assert_eq!(policy.decide(&failure().age(HOUR)).action, late);
    assert_eq!(policy.decide(&failure().age(HOUR - SECOND)).action, late);
    assert_eq!(policy.decide(&failure().expires_in(Duration::ZERO)).action, late);
    assert_eq!(policy.decide(&Failure::new("validation")).action, DEAD_LETTER, "is not late but wrong");
}

#[test]
fn without_a_dead_letter_topic_what_is_out_of_time_is_dropped_and_the_reason_says_so() {
    let route = Route::new("orders").with_tier("30s", 30 * SECOND);
    let Ok(policy) = configure::<TiersByAge>("{}", &route) else { panic!("refused") };
    let verdict = policy.decide(&failure().age(25 * HOUR));
    assert_eq!(verdict.action, Action::Drop);
    assert!(verdict.reason.ends_with("the route has no default dead-letter topic"), "{}", verdict.reason);
}

#[test]
fn an_invalid_message_is_not_tried_for_a_day() {
    let invalid = Failure::new("validation-schema");
    assert_eq!(policy("{}").decide(&invalid).action, DEAD_LETTER);
    assert_eq!(policy(r#"{"invalid": []}"#).decide(&invalid).action, Action::Retry(SECOND));
    let route = route().with_dead_letter("invalid");
    let Ok(policy) = configure::<TiersByAge>("{}", &route) else { panic!("refused") };
    assert_eq!(policy.decide(&invalid).action, Action::DeadLetter(Some("invalid".to_owned())));
}

#[test]
fn a_route_without_tiers_is_refused_with_the_cure() {
    let problems = problems("{}", &Route::new("orders").with_dead_letter("default"));
    assert_eq!(problems.len(), 1);
    assert!(problems[0].contains("give it some in the configuration"), "{problems:?}");
}

#[test]
fn every_setting_that_contradicts_another_or_the_route_is_named() {
    let settings = r#"{
        "deadline": "10m",
        "expired": "gone",
        "retry": {"factor": 0.5},
        "steps": [
            {"from": "1s", "tier": "5m"},
            {"from": "2m", "tier": "30s"},
            {"from": "2m", "tier": "5m"},
            {"from": "10m", "tier": "1h"},
            {"from": "11m", "tier": "30m"}
        ]
    }"#;
    assert_eq!(
        problems(settings, &route()),
        [
            "/retry/factor: the factor is 0.5: give a number from 1 up",
            "/expired: the route has no dead-letter topic labelled \"gone\"; its labels: default, late",
            "/steps/0/from: the first step is for the youngest messages: leave `from` out",
            "/steps/1/tier: an older message has to go through a tier that is no shorter than a younger one's",
            "/steps/2/from: a step has to begin later than the one before it",
            "/steps/3/from: no message gets that old: the deadline is 10m",
            "/steps/3/tier: the route has no tier \"1h\"; its tiers: 30s, 5m, 30m",
            "/steps/4/from: no message gets that old: the deadline is 10m",
            "/steps/4/tier: the tier is longer than the deadline, 10m",
        ]
    );
    assert_eq!(
        problems(r#"{"steps": []}"#, &route()),
        ["/steps: there are no steps: give some, or leave the setting out"]
    );
    for deadline in ["0s", "29s"] {
        let problems = problems(&format!(r#"{{"deadline": "{deadline}"}}"#), &route());
        assert!(problems[0].starts_with("/deadline: a deadline of "), "{problems:?}");
    }
}

#[test]
fn the_schema_names_exactly_the_settings_that_there_are() {
    let schema: serde_json::Value = serde_json::from_str(TiersByAge::settings_schema().unwrap()).unwrap();
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
    assert_eq!(in_schema("/properties/steps/items/properties"), expected(r#"{"steps": [{"?": 0}]}"#));
    assert_eq!(in_schema("/properties/retry/properties"), expected(r#"{"retry": {"?": 0}}"#));
}

/// The time after which a message is back that gets this verdict; `None` where it does not come back.
fn time_away(action: &Action, route: &Route) -> Option<Duration> {
    match action {
        Action::Retry(wait) => Some(*wait),
        Action::Delay(delay) => route.time_away(*delay),
        Action::DelayTo(name) => Some(route.tiers.iter().find(|tier| tier.name == *name).unwrap().delay),
        Action::DeadLetter(_) | Action::Requeue(_) | Action::Drop => None,
    }
}

fn any_wait() -> impl Strategy<Value = Duration> {
    prop_oneof![
        (0u64..100_000).prop_map(Duration::from_secs),
        (0u64..4000).prop_map(Duration::from_secs),
        any::<Duration>()
    ]
}

proptest! {
    #[test]
    fn no_message_comes_back_past_its_deadline_or_sooner_than_asked(
        deadline in 1800u64..200_000,
        age in any_wait(),
        attempt in 1u32..6,
        wait in proptest::option::of(any_wait()),
        expires_in in proptest::option::of(any_wait()),
    ) {
        let policy = policy(&format!(r#"{{"deadline": "{deadline}s"}}"#));
        let mut failure = Failure::new("http-503").attempt(attempt).age(age);
        failure.error.retry_after = wait;
        failure.expires_in = expires_in;
        let action = policy.decide(&failure).action;
        match time_away(&action, &route()) {
            Some(away) => {
                prop_assert!(age + away <= Duration::from_secs(deadline), "{action:?} ends past the deadline");
                prop_assert!(away >= wait.unwrap_or_default(), "{action:?} is sooner than asked");
                prop_assert!(expires_in.is_none_or(|left| away < left), "{action:?} outlives the message");
            }
            None => {
                // The shortest tier was too long, or what was asked for.
                let shortest = (30 * SECOND).max(wait.unwrap_or_default());
                let left = Duration::from_secs(deadline).saturating_sub(age).min(expires_in.unwrap_or(Duration::MAX));
                prop_assert!(
                    route().time_away(shortest).unwrap() >= left,
                    "{action:?} although {left:?} are left for {shortest:?}"
                );
            }
        }
    }

    #[test]
    fn an_older_message_never_waits_less_while_the_deadline_is_far(age in 0u64..80_000, older in 0u64..4_000) {
        let policy = policy("{}");
        let away = |age| time_away(&policy.decide(&failure().age(Duration::from_secs(age))).action, &route()).unwrap();
        prop_assert!(away(age + older) >= away(age));
    }
}

#[test]
fn a_message_that_always_fails_takes_the_way_that_the_readme_shows() {
    let policy = policy(r#"{"deadline": "4h", "expired": "late"}"#);
    let (mut age, mut attempt, mut way) = (Duration::ZERO, 1, Vec::new());
    loop {
        let action = policy.decide(&Failure::new("http-503").attempt(attempt).age(age)).action;
        let away = time_away(&action, &route());
        way.push((age.as_secs(), attempt, action));
        let Some(away) = away else { break };
        (age, attempt) = (age + away, attempt + 1);
    }
    way.dedup_by(|(_, _, later), (_, _, earlier)| later == earlier);
    let at = |hours: u64, minutes: u64, seconds: u64| hours * 3600 + minutes * 60 + seconds;
    assert_eq!(
        way,
        [
            (0, 1, Action::Retry(SECOND)),
            (1, 2, tier("30s")),
            (at(0, 5, 1), 12, tier("5m")),
            (at(0, 30, 1), 17, tier("30m")),
            (at(3, 30, 1), 23, tier("5m")),
            (at(3, 55, 1), 28, tier("30s")),
            (at(3, 59, 31), 37, Action::DeadLetter(Some("late".to_owned()))),
        ]
    );
}
