use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::timestamp::millis;
use crate::topic::Tier;
use crate::verdict::{Action, Fault, FaultKind, Verdict};

pub(in crate::cli::policy::timeline) fn rules() -> Rules {
    let tier = |name: &str| Tier { name: name.to_owned(), delay: humantime::parse_duration(name).unwrap() };
    let mut rules = Rules::new("orders", "orders");
    rules.tiers = vec![tier("30s"), tier("5m")];
    rules.dead_letters.insert("default".to_owned(), "orders.dlq".into());
    rules
}

pub(in crate::cli::policy::timeline) fn script(failure: serde_json::Value, attempts: u32) -> Script {
    let failure = Failure::from_written(&failure).unwrap();
    Script { failure, handler_time: Duration::ZERO, attempts, known: KnownStarts::default(), judge_only: false }
}

pub(in crate::cli::policy::timeline) fn says(action: Action) -> Decision {
    Decision { maker: None, result: Ok(Verdict::new(action, "as told")) }
}

/// Doubles from 100 ms, and gives up after five attempts.
pub(in crate::cli::policy::timeline) fn doubling(failure: &Arc<Failure>) -> Decision {
    match failure.attempt {
        5.. => says(Action::DeadLetter { label: None }),
        attempt => says(Action::Retry { delay_ms: 50 << attempt }),
    }
}

fn waits(play: &Play) -> Vec<u64> {
    play.steps.iter().filter_map(|step| step.outcome.wait_ms()).collect()
}

#[test]
fn each_attempt_fails_after_the_wait_before_it() {
    let play = play(&script(json!({}), 20), rules(), doubling);
    assert_eq!(waits(&play), [100, 200, 400, 800]);
    assert_eq!(play.steps.iter().map(|step| step.at_ms).collect::<Vec<_>>(), [0, 100, 300, 700, 1500]);
    assert_eq!(play.end, End::DeadLettered { topic: "orders.dlq".into() });
    assert_eq!((play.total_ms, play.span_ms()), (1500, 1500));
}

#[test]
fn the_time_that_attempts_take_counts() {
    let script = Script { handler_time: Duration::from_secs(2), ..script(json!({}), 20) };
    let play = play(&script, rules(), doubling);
    assert_eq!(play.steps.iter().map(|step| step.at_ms).collect::<Vec<_>>(), [2000, 4100, 6300, 8700, 11_500]);
}

#[test]
fn a_delay_is_rounded_up_to_a_tier_and_a_longer_one_takes_several_hops() {
    let mut delays = [10_000, 60_000, 720_000].into_iter();
    let delayed = play(&script(json!({}), 20), rules(), |_| match delays.next() {
        Some(delay_ms) => says(Action::Delay { delay_ms }),
        None => says(Action::Drop),
    });
    assert_eq!(waits(&delayed), [30_000, 300_000, 900_000]);
    assert_eq!(delayed.steps.len(), 4, "a hop is no attempt");
    assert_eq!((delayed.end, delayed.total_ms), (End::Dropped, 1_230_000));
}

#[test]
fn age_and_tier_are_those_that_a_host_would_show() {
    let mut seen = Vec::new();
    play(&script(json!({ "message": { "timestamp": "2026-01-01T11:00:00Z" } }), 2), rules(), |failure| {
        seen.push((failure.attempt, failure.age_ms, failure.tier.clone()));
        says(Action::DelayTo { tier: "5m".into() })
    });
    assert_eq!(seen, [(1, 3_600_000, None), (2, 3_900_000, Some("5m".to_owned()))]);
}

#[test]
fn what_a_host_would_override_is_overridden() {
    let play = play(&script(json!({}), 20), rules(), |_| says(Action::DelayTo { tier: "1h".into() }));
    assert_eq!(play.end, End::DeadLettered { topic: "orders.dlq".into() });
    assert_eq!(play.steps[0].ruling.overridden.as_deref(), Some("the route has no tier \"1h\""));
}

#[test]
fn a_message_that_expires_is_not_delayed_beyond_that() {
    let mut script = script(json!({}), 20);
    Arc::make_mut(&mut script.failure.message).properties.expiration = Some("50000".into());
    let play = play(&script, rules(), |_| says(Action::DelayTo { tier: "30s".into() }));
    assert_eq!(waits(&play), [30_000]);
    assert!(play.steps[1].ruling.overridden.as_ref().unwrap().contains("expires"), "{:?}", play.steps[1]);
}

#[test]
fn where_a_policy_fails_the_fallback_judges() {
    let fault = || Decision { maker: None, result: Err(Fault::new(FaultKind::Trap, "it broke")) };
    let play = play(&script(json!({}), 20), rules(), |_| fault());
    assert_eq!(play.end, End::DeadLettered { topic: "orders.dlq".into() });
    assert!(play.steps[0].ruling.fault.is_some());
}

#[test]
fn what_is_handed_back_comes_again_after_a_cool_down_that_doubles() {
    let play = play(&script(json!({}), 4), rules(), |_| says(Action::Requeue { cooldown_ms: None }));
    assert_eq!(waits(&play), [1000, 2000, 4000, 8000]);
    assert_eq!(play.end, End::GoesOn);
}

#[test]
fn messages_that_fail_elsewhere_are_judged_as_they_arrive() {
    let script = Script { judge_only: true, ..script(json!({}), 3) };
    let mut attempts = Vec::new();
    let play = play(&script, rules(), |failure| {
        attempts.push(failure.attempt);
        says(Action::Retry { delay_ms: 1000 })
    });
    assert_eq!(attempts, [1, 2, 3]);
    assert_eq!(waits(&play), [30_000; 3], "there is no handler to retry with");
}

#[test]
fn a_message_that_comes_back_expired_waited_for_as_long_as_its_tiers_took() {
    let mut script = script(json!({}), 20);
    Arc::make_mut(&mut script.failure.message).properties.expiration = Some("780000".into());
    let mut said = [Action::Delay { delay_ms: 720_000 }, Action::Drop].into_iter();
    let play = play(&script, rules(), |_| says(said.next().unwrap()));
    assert_eq!(waits(&play), [900_000]);
    assert_eq!((play.steps[1].at_ms, play.total_ms), (900_000, 900_000));
    assert_eq!(play.steps[1].ruling.error_kind, "expired");
}

#[test]
fn it_goes_on_from_the_attempt_that_is_known() {
    let known = KnownStarts { starts: 3, ..KnownStarts::default() };
    let play = play(&Script { known, ..script(json!({}), 20) }, rules(), doubling);
    assert_eq!(play.steps.iter().map(|step| step.attempt).collect::<Vec<_>>(), [4, 5]);
}

#[test]
fn a_message_that_claims_to_be_due_in_ages_does_not_take_as_long() {
    let headers = json!({ "reprieve-route": "orders", "reprieve-due": "9999-01-01T00:00:00Z" });
    let script = script(json!({ "message": { "headers": headers } }), 20);
    let longest = millis(rules().max_delay);
    let tried = play(&script, rules(), doubling).steps[0].at_ms;
    assert!((longest..longest + 1_000_000).contains(&tried), "{tried}: as long as a host may delay, in whole tiers");
    // Without a tier to wait in, it cannot come any nearer to its time.
    let parked = play(&script, Rules { tiers: Vec::new(), ..rules() }, doubling);
    assert!(matches!(parked.end, End::DeadLettered { .. }), "{:?}", parked.end);
    assert_eq!((parked.total_ms, parked.steps.len()), (0, 0), "it is not tried");
}

fn any_action() -> impl Strategy<Value = Action> {
    prop_oneof![
        (0..100_000_u64).prop_map(|delay_ms| Action::Retry { delay_ms }),
        (0..1_000_000_u64).prop_map(|delay_ms| Action::Delay { delay_ms }),
        prop_oneof![Just("30s"), Just("5m"), Just("none")].prop_map(|tier| Action::DelayTo { tier: tier.into() }),
        Just(Action::Requeue { cooldown_ms: Some(5) }),
    ]
}

proptest! {
    #[test]
    fn whatever_is_said_the_play_ends_and_its_times_add_up(actions in proptest::collection::vec(any_action(), 1..6), attempts in 1..40_u32) {
        let mut next = actions.iter().cycle();
        let play = play(&script(json!({}), attempts), rules(), |_| says(next.next().unwrap().clone()));
        prop_assert!(!play.steps.is_empty() && play.steps.len() <= attempts as usize);
        for pair in play.steps.windows(2) {
            prop_assert_eq!(pair[0].at_ms + pair[0].outcome.wait_ms().unwrap(), pair[1].at_ms);
        }
    }
}
