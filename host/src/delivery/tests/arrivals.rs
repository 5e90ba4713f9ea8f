//! Rules 8, 9 and 13: what a delivery's headers and the host's memory say of its past.

use std::time::Duration;

use super::world::{Pending, START, World, arrival, judged, rules, tier, verdict};
use crate::broker::Target;
use crate::delivery::{Arrival, Ending, KnownStarts};
use crate::message::{HeaderValue, Message};
use crate::timestamp::Timestamp;
use crate::verdict::Action;

/// The copy that a route made of a failed message, as it comes back.
fn copy_after(attempts: u32) -> Message {
    Message::new("body")
        .with_id("m1")
        .with_header("reprieve-route", "orders")
        .with_header("reprieve-attempts", attempts)
}

fn first_attempt(message: Message) -> u32 {
    World::started(rules(), arrival(message)).attempts[0]
}

#[test]
fn attempts_count_on_from_our_header() {
    assert_eq!(first_attempt(copy_after(4)), 5);
}

#[test]
fn starts_since_the_copy_are_added_and_never_the_greater_of_two() {
    let known = KnownStarts { starts: 2, ..KnownStarts::default() };
    let world = World::started(rules(), Arrival { known, ..arrival(copy_after(4)) });
    assert_eq!(world.attempts, [7]);
}

#[test]
fn the_copy_carries_the_count_of_all_attempts() {
    let mut world = World::started(rules(), arrival(copy_after(4)));
    world.fail("x").judge(verdict(Action::Retry { delay_ms: 10 }));
    world.wait();
    world.fail("x").judge(verdict(Action::DeadLetter { label: None }));
    assert_eq!(world.publication().message.headers.get("reprieve-attempts"), Some(&HeaderValue::I64(6)));
}

#[test]
fn the_count_of_another_route_is_not_ours() {
    assert_eq!(first_attempt(copy_after(4).with_header("reprieve-route", "billing")), 1);
}

#[test]
fn nonsense_in_our_headers_counts_as_nothing() {
    for nonsense in ["many", "-3", "", "4.5", "99999999999999999999"] {
        assert_eq!(first_attempt(copy_after(1).with_header("reprieve-attempts", nonsense)), 1, "{nonsense}");
    }
    assert_eq!(first_attempt(copy_after(1).with_header("reprieve-attempts", HeaderValue::Null)), 1);
}

#[test]
fn a_count_at_the_end_of_its_range_stays_there() {
    let huge = copy_after(0).with_header("reprieve-attempts", i64::MAX);
    assert_eq!(first_attempt(huge), u32::MAX);
}

#[test]
fn each_arrival_counts_in_judge_mode() {
    let world = World::started(rules(), judged(copy_after(4)));
    assert_eq!(world.failure().attempt, 5);
}

#[test]
fn a_message_that_is_a_little_early_waits_here_until_it_is_due() {
    let due = START.after(Duration::from_secs(2)).to_string();
    let mut world = World::started(rules(), arrival(copy_after(1).with_header("reprieve-due", due)));
    assert_eq!(world.wait(), Duration::from_secs(2));
    assert_eq!(world.attempts, [2]);
}

#[test]
fn a_message_on_its_way_through_several_tiers_is_sent_on_uncounted() {
    let due = START.after(Duration::from_secs(200)).to_string();
    let message = copy_after(3).with_header("reprieve-due", due).with_header("reprieve-error", "busy");
    let mut world = World::started(rules(), arrival(message));
    let publication = world.publication();
    assert_eq!(
        publication.target,
        Target::Tier { tier: tier("5m"), route: "orders".to_owned(), back_to: "orders".to_owned() }
    );
    assert_eq!(publication.message.headers.get("reprieve-attempts"), Some(&HeaderValue::I64(3)));
    assert_eq!(publication.message.headers.text("reprieve-error"), Some("busy"));
    world.confirm();
    assert_eq!(world.settled(), Ending::Delayed);
}

#[test]
fn a_live_message_is_handled_whatever_its_sender_says_of_the_time() {
    let mut message = Message::new("body");
    message.properties.expiration = Some("500".to_owned());
    // Whole seconds, by another clock.
    message.timestamp = Some(Timestamp(START.0 - 900));
    assert_eq!(first_attempt(message), 1);
}

#[test]
fn what_is_passed_on_to_its_next_tier_stays_as_it_is() {
    let due = START.after(Duration::from_secs(200)).to_string();
    let message = copy_after(3)
        .with_header("reprieve-due", due.clone())
        .with_header("reprieve-reason", "the warehouse is closed")
        .with_header("reprieve-failed-at", "2023-11-14T22:13:20.000Z")
        .with_header("x-death", HeaderValue::Array(Vec::new()));
    let passed = World::started(rules(), arrival(message)).publication().message;
    assert_eq!(passed.headers.text("reprieve-due"), Some(due.as_str()));
    assert_eq!(passed.headers.text("reprieve-reason"), Some("the warehouse is closed"));
    assert_eq!(passed.headers.text("reprieve-failed-at"), Some("2023-11-14T22:13:20.000Z"));
    assert_eq!(passed.headers.get("x-death"), None);
}

#[test]
fn what_is_passed_on_does_not_go_to_the_queues_that_its_sender_named() {
    let due = START.after(Duration::from_secs(200)).to_string();
    let mut message = copy_after(3).with_header("reprieve-due", due).with_header("CC", "audit");
    message.properties.expiration = Some("600000".to_owned());
    let passed = World::started(rules(), arrival(message)).publication().message;
    assert_eq!((passed.headers.get("CC"), passed.headers.text("reprieve-cc")), (None, Some("audit")));
    assert_eq!(passed.headers.text("reprieve-expiration"), Some("600000"));
}

#[test]
fn a_due_time_that_no_copy_of_ours_has_is_bounded_once_and_for_all() {
    let rules = rules();
    let latest = START.after(rules.max_delay);
    let message = copy_after(1).with_header("reprieve-due", "9999-12-31T23:59:59.999Z");
    let passed = World::started(rules.clone(), arrival(message)).publication().message;
    assert_eq!(passed.headers.text("reprieve-due"), Some(latest.to_string().as_str()));

    // However often it comes by, that stays its time.
    let later = START.after(Duration::from_secs(300));
    let again = World::started(rules, Arrival { at: later, ..arrival(passed) }).publication().message;
    assert_eq!(again.headers.text("reprieve-due"), Some(latest.to_string().as_str()));
}

#[test]
fn a_due_time_that_no_copy_of_ours_has_is_no_reason_to_hand_a_message_back_for_ever() {
    let mut rules = rules();
    rules.tiers.clear();
    let message = copy_after(1).with_header("reprieve-due", "9999-12-31T23:59:59.999Z");
    let mut world = World::started(rules, arrival(message));
    let letter = world.publication();
    assert_eq!(letter.target, Target::Topic("orders.dlq".into()));
    assert_eq!(letter.message.headers.text("reprieve-error-kind"), Some("not-due"));
    assert_eq!(letter.message.headers.get("reprieve-due"), None);
    world.confirm();
    assert_eq!(world.settled(), Ending::DeadLettered);
}

#[test]
fn an_early_message_without_a_tier_is_not_handed_back_where_that_could_lose_it() {
    let mut rules = rules();
    rules.tiers.clear();
    rules.requeue_is_safe = false;
    let due = START.after(Duration::from_secs(3600)).to_string();
    let mut world = World::started(rules, arrival(copy_after(1).with_header("reprieve-due", due)));
    assert_eq!(world.wait(), Duration::from_secs(3600));
    assert_eq!(world.attempts, [2]);
}

#[test]
fn an_expired_message_is_not_handled_but_judged() {
    let expired = Timestamp(START.0 - 1).to_string();
    let world = World::started(rules(), arrival(copy_after(2).with_header("reprieve-expires-at", expired)));
    let failure = world.failure();
    assert_eq!((failure.error.kind.as_str(), failure.expires_in_ms, failure.attempt), ("expired", Some(0), 2));
}

#[test]
fn a_retry_of_a_message_that_expires_meanwhile_is_judged_as_expired() {
    let mut message = Message::new("body");
    message.properties.expiration = Some("1500".to_owned());
    let mut world = World::started(rules(), arrival(message));
    world.fail("x").judge(verdict(Action::Retry { delay_ms: 1000 }));
    world.now = world.now.after(Duration::from_secs(1));
    world.wait();
    assert!(matches!(&world.pending, Pending::Policy(failure) if failure.error.kind == "expired"));
}

#[test]
fn the_policy_is_told_what_is_known() {
    let mut message = copy_after(1).with_header("reprieve-tier", "5m");
    message.timestamp = Some(Timestamp(START.0 - 9_000));
    let known = KnownStarts { interruptions: 2, ..KnownStarts::default() };
    let mut world = World::started(rules(), Arrival { known, redelivered: true, ..arrival(message) });
    world.fail("http-503");
    let failure = world.failure();
    assert_eq!((failure.attempt, failure.interruptions, failure.redelivered), (2, 2, true));
    assert_eq!((failure.tier.as_deref(), failure.age_ms, failure.body_size), (Some("5m"), 9_000, 4));
}

#[test]
fn a_message_ages_from_its_first_failure_where_its_timestamp_is_later_than_that() {
    let mut message = copy_after(1).with_header("reprieve-first-failed-at", Timestamp(START.0 - 5_000).to_string());
    // Milliseconds taken for seconds.
    message.timestamp = Some(Timestamp(START.0 * 1000));
    let mut world = World::started(rules(), arrival(message));
    world.fail("http-503");
    assert_eq!(world.failure().age_ms, 5_000);
}
