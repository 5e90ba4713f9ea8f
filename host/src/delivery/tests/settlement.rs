//! Rules 1 to 6: what is done, and in which order.

use std::time::Duration;

use super::world::{Pending, World, arrival, fault, judged, rules, tier, verdict};
use crate::broker::{PublishError, SettleError, Settlement, Target};
use crate::delivery::{Arrival, Ending, Input, KnownStarts, Rules};
use crate::event::EventKind;
use crate::message::Message;
use crate::verdict::{Action, FaultKind};

fn failed_once() -> World {
    let mut world = World::started(rules(), arrival(Message::new("body").with_id("m1")));
    world.fail("http-503");
    world
}

fn being_dead_lettered() -> World {
    let mut world = failed_once();
    world.judge(verdict(Action::DeadLetter { label: None }));
    world
}

fn outage() -> Result<(), PublishError> {
    Err(PublishError::Outage("no confirm".to_owned()))
}

#[test]
fn a_success_is_acknowledged() {
    let mut world = World::started(rules(), arrival(Message::new("body")));
    world.succeed();
    assert_eq!(world.pending, super::world::Pending::Settle(Settlement::Ack));
    assert_eq!(world.settled(), Ending::Succeeded);
}

#[test]
fn a_retry_waits_and_counts_up() {
    let mut world = failed_once();
    world.judge(verdict(Action::Retry { delay_ms: 250 }));
    assert_eq!(world.wait(), Duration::from_millis(250));
    world.succeed();
    assert_eq!(world.settled(), Ending::Succeeded);
    assert_eq!(world.attempts, [1, 2]);
}

#[test]
fn a_retry_at_once_still_waits_a_moment() {
    let mut world = failed_once();
    world.judge(verdict(Action::Retry { delay_ms: 0 }));
    assert!(world.wait() > Duration::ZERO);
}

#[test]
fn the_copy_is_confirmed_before_the_delivery_is_acknowledged() {
    let mut world = being_dead_lettered();
    assert_eq!(world.target(), Target::Topic("orders.dlq".into()));
    world.confirm();
    assert_eq!(world.pending, super::world::Pending::Settle(Settlement::Ack));
    assert_eq!(world.settled(), Ending::DeadLettered);
}

#[test]
fn a_delay_goes_through_the_tier_and_is_reported_with_its_due_time() {
    let mut world = failed_once();
    world.judge(verdict(Action::Delay { delay_ms: 31_000 }));
    assert_eq!(
        world.target(),
        Target::Tier { tier: tier("5m"), route: "orders".to_owned(), back_to: "orders".to_owned() }
    );
    world.confirm();
    assert_eq!(world.settled(), Ending::Delayed);
    let due = world.reports.iter().find_map(|report| match report {
        EventKind::Delayed { due, .. } => Some(*due),
        _ => None,
    });
    assert_eq!(due, Some(world.now.after(Duration::from_secs(300))));
}

#[test]
fn a_publish_that_fails_is_tried_again_with_back_off_while_intake_pauses() {
    let mut world = being_dead_lettered();
    world.publish_ends(outage());
    assert!(world.pauses.iter().all(|pause| pause.outage) && !world.pauses.is_empty());
    let first = world.wait();
    world.publish_ends(outage());
    let second = world.wait();
    assert!(second > first, "{second:?} is no back-off after {first:?}");
    world.confirm();
    assert!(world.pauses.is_empty(), "intake goes on by itself when an outage ends");
    assert_eq!(world.settled(), Ending::DeadLettered);
}

#[test]
fn a_refusal_concerns_only_its_message() {
    let mut world = being_dead_lettered();
    world.publish_ends(Err(PublishError::Refused("bad".to_owned())));
    assert!(world.pauses.is_empty());
    world.wait();
    world.confirm();
    assert_eq!(world.settled(), Ending::DeadLettered);
}

#[test]
fn a_publish_that_never_gets_through_ends_at_the_broker_after_a_cool_down() {
    let mut world = being_dead_lettered();
    for _ in 1..rules().publish.tries {
        world.publish_ends(outage());
        world.wait();
    }
    world.publish_ends(outage());
    assert!(world.wait() >= rules().requeue.initial);
    assert_eq!(world.pending, super::world::Pending::Settle(Settlement::Reject));
    assert_eq!(world.settled(), Ending::Requeued);
}

#[test]
fn where_the_broker_would_throw_it_away_it_stays_held() {
    let mut rules = rules();
    rules.requeue_is_safe = false;
    let mut world = World::started(rules, arrival(Message::new("body")));
    world.fail("x").judge(verdict(Action::DeadLetter { label: None }));
    for _ in 0..50 {
        world.publish_ends(outage());
        world.wait();
    }
    world.confirm();
    assert_eq!(world.settled(), Ending::DeadLettered);
}

#[test]
fn a_requeue_cools_down_and_doubles_each_time() {
    let mut world = failed_once();
    world.judge(verdict(Action::Requeue { cooldown_ms: None }));
    let first = world.wait();
    assert_eq!(world.settled(), Ending::Requeued);

    let known = world.known_starts();
    let mut again = World::started(rules(), Arrival { known, ..arrival(Message::new("body")) });
    again.fail("http-503").judge(verdict(Action::Requeue { cooldown_ms: None }));
    assert_eq!(again.wait(), first * 2);
    assert_eq!(again.attempts, [2], "what is remembered of the first hand-over counts");
}

fn no_room() -> Result<(), SettleError> {
    Err(SettleError::NoRoom("the window is full".to_owned()))
}

#[test]
fn a_requeue_without_room_is_a_dead_letter_and_says_why() {
    let mut world = failed_once();
    world.judge(verdict(Action::Requeue { cooldown_ms: None }));
    world.wait();
    world.settle_ends(no_room());
    assert_eq!(world.target(), Target::Topic("orders.dlq".into()));
    assert_eq!(world.publication().message.headers.text("reprieve-error-kind"), Some("http-503"));
    world.confirm();
    assert_eq!(world.settled(), Ending::DeadLettered);
    let why = world.overridden().expect("the verdict was another");
    assert!(why.contains("the window is full"), "{why}");
    assert!(!world.reports.iter().any(|report| matches!(report, EventKind::Requeued { .. })), "it was not given back");
}

#[test]
fn without_a_dead_letter_topic_it_stays_held_until_there_is_room() {
    let mut rules = rules();
    rules.dead_letters.clear();
    let mut world = World::started(rules.clone(), arrival(Message::new("body")));
    world.fail("http-503").judge(verdict(Action::Requeue { cooldown_ms: None }));
    let mut last = world.wait();
    for _ in 0..20 {
        world.settle_ends(no_room());
        let wait = world.wait();
        assert!(wait >= last && wait <= rules.requeue.max, "{wait:?} after {last:?}");
        last = wait;
    }
    assert_eq!(world.pending, Pending::Settle(Settlement::Reject));
    assert_eq!(world.settled(), Ending::Requeued);
}

#[test]
fn a_dead_letter_that_never_got_through_and_has_no_room_to_go_back_is_published_again() {
    let mut world = being_dead_lettered();
    for _ in 0..rules().publish.tries {
        world.publish_ends(outage());
        world.wait();
    }
    world.settle_ends(no_room());
    assert_eq!(world.target(), Target::Topic("orders.dlq".into()));
    world.confirm();
    assert_eq!(world.settled(), Ending::DeadLettered);
    assert_eq!(world.overridden(), None, "that is what the verdict was");
}

#[test]
fn at_shutdown_what_has_no_room_is_left_to_the_broker() {
    let mut world = failed_once();
    world.judge(verdict(Action::Requeue { cooldown_ms: None }));
    world.wait();
    world.give(Input::Shutdown);
    world.settle_ends(no_room());
    assert_eq!(world.pending, Pending::Settle(Settlement::Release));
    assert_eq!(world.settled(), Ending::Released);
}

#[test]
fn a_policy_that_fails_is_replaced_by_the_fallback() {
    let mut world = failed_once();
    world.judge(fault(FaultKind::Trap));
    assert_eq!(world.wait(), Duration::from_secs(1), "as the route's retry settings say");
    world.fail("http-503").judge(fault(FaultKind::Timeout));
    world.wait();
    world.fail("http-503").judge(fault(FaultKind::Memory));
    assert_eq!(world.target(), Target::Topic("orders.dlq".into()), "three attempts are used up");
    let faults = world.reports.iter().filter(|report| matches!(report, EventKind::PolicyFailed { .. })).count();
    assert_eq!(faults, 3);
}

#[test]
fn the_fallback_never_drops_unless_the_route_says_so() {
    let mut rules = rules();
    rules.dead_letters.clear();
    rules.retry.max_attempts = 1;
    let mut world = World::started(rules.clone(), arrival(Message::new("body")));
    world.fail("x").judge(fault(FaultKind::NoPolicy));
    world.wait();
    assert_eq!(world.settled(), Ending::Requeued);

    rules.allow_drop_on_fault = true;
    let mut world = World::started(rules, arrival(Message::new("body")));
    world.fail("x").judge(fault(FaultKind::NoPolicy));
    assert_eq!(world.settled(), Ending::Dropped);
}

#[test]
fn a_sleeper_goes_back_untouched_at_shutdown() {
    let mut world = failed_once();
    world.judge(verdict(Action::Retry { delay_ms: 5_000 }));
    world.give(Input::Shutdown);
    assert_eq!(world.pending, super::world::Pending::Settle(Settlement::Release));
    assert_eq!(world.settled(), Ending::Released);
}

#[test]
fn a_running_handler_may_finish_during_shutdown_and_its_success_counts() {
    let mut world = World::started(rules(), arrival(Message::new("body")));
    world.give(Input::Shutdown);
    world.succeed();
    assert_eq!(world.settled(), Ending::Succeeded);
}

#[test]
fn a_handler_that_is_cut_off_by_the_end_of_the_shutdown_has_not_failed() {
    let mut world = World::started(rules(), arrival(Message::new("body")));
    world.give(Input::Shutdown).give(Input::Abort);
    assert_eq!(world.pending, super::world::Pending::Settle(Settlement::Release));
    assert_eq!(world.settled(), Ending::Released);
    assert_eq!(world.reports.iter().map(EventKind::name).collect::<Vec<_>>(), ["released"]);
}

#[test]
fn a_failure_on_a_lost_delivery_is_not_judged() {
    let mut world = World::started(rules(), arrival(Message::new("body")));
    world.give(Input::Lost);
    world.fail("x");
    assert_eq!(world.ending(), Ending::Lost { durable: false });
    assert_eq!(world.known_starts().interruptions, 1);
}

#[test]
fn a_success_on_a_lost_delivery_is_remembered_as_durable() {
    let mut world = World::started(rules(), arrival(Message::new("body")));
    world.give(Input::Lost);
    world.succeed();
    assert_eq!(world.ending(), Ending::Lost { durable: true });
}

#[test]
fn a_copy_confirmed_after_the_channel_died_is_remembered_as_durable() {
    let mut world = being_dead_lettered();
    world.give(Input::Lost);
    world.confirm();
    assert_eq!(world.ending(), Ending::Lost { durable: true });
}

#[test]
fn a_settle_that_the_broker_did_not_take_is_sent_again() {
    let mut world = World::started(rules(), arrival(Message::new("body")));
    world.succeed();
    world.settle_ends(Err(SettleError::Retry("busy".to_owned())));
    world.wait();
    assert_eq!(world.settled(), Ending::Succeeded);
}

#[test]
fn an_ack_on_a_dead_channel_is_lost_after_a_durable_outcome() {
    let mut world = World::started(rules(), arrival(Message::new("body")));
    world.succeed();
    world.settle_ends(Err(SettleError::Gone("channel closed".to_owned())));
    assert_eq!(world.ending(), Ending::Lost { durable: true });
}

#[test]
fn a_judged_message_goes_back_to_the_queue_that_it_failed_on() {
    let mut world = World::started(rules(), judged(Message::new("body")));
    world.judge(verdict(Action::Retry { delay_ms: 100 }));
    assert_eq!(
        world.target(),
        Target::Tier { tier: tier("30s"), route: "orders".to_owned(), back_to: "billing".to_owned() }
    );
    world.confirm();
    assert_eq!(world.settled(), Ending::Delayed);
    assert!(world.attempts.is_empty(), "there is no handler to run");
}

#[test]
fn what_did_not_fail_but_died_is_parked_unjudged() {
    let mut arrival = judged(Message::new("body"));
    if let crate::delivery::Work::Judge(elsewhere) = &mut arrival.work {
        elsewhere.unjudged = Some("died of expired".to_owned());
    }
    let mut world = World::started(rules(), arrival);
    assert_eq!(world.target(), Target::Topic("orders.dlq".into()));
    world.confirm();
    assert_eq!(world.settled(), Ending::DeadLettered);
}

#[test]
fn a_message_whose_attempts_never_end_is_judged_before_the_next_one() {
    let known = KnownStarts { starts: 5, interruptions: 5, ..KnownStarts::default() };
    let world = World::started(rules(), Arrival { known, ..arrival(Message::new("body")) });
    let failure = world.failure();
    assert_eq!((failure.error.kind.as_str(), failure.interruptions, failure.attempt), ("interrupted", 5, 5));
}

#[test]
fn a_message_whose_attempts_never_end_is_not_handled_again_whatever_the_policy_says() {
    let known = KnownStarts { starts: 5, interruptions: 5, ..KnownStarts::default() };
    let again = [
        Action::Retry { delay_ms: 100 },
        Action::Delay { delay_ms: 30_000 },
        Action::DelayTo { tier: "30s".to_owned() },
        Action::Requeue { cooldown_ms: None },
    ];
    for action in again {
        let mut world = World::started(rules(), Arrival { known, ..arrival(Message::new("body")) });
        world.judge(verdict(action)).confirm();
        assert!(world.overridden().unwrap().contains("may end the host again"));
        assert_eq!(world.settled(), Ending::DeadLettered);
        assert!(world.attempts.is_empty());
    }
    let mut world = World::started(rules(), Arrival { known, ..arrival(Message::new("body")) });
    world.judge(verdict(Action::DeadLetter { label: Some("invalid".to_owned()) }));
    assert_eq!(world.target(), Target::Topic("orders.invalid".into()), "where it ends is the policy's to say");
}

#[test]
fn a_message_whose_attempts_never_end_is_held_unhandled_where_it_can_go_nowhere() {
    let mut rules = rules();
    rules.dead_letters.clear();
    rules.requeue_is_safe = false;
    let known = KnownStarts { interruptions: 5, ..KnownStarts::default() };
    let mut world = World::started(rules, Arrival { known, ..arrival(Message::new("body")) });
    for _ in 0..20 {
        world.judge(verdict(Action::Retry { delay_ms: 100 }));
        assert!(world.wait() >= Duration::from_secs(60));
    }
    assert!(world.attempts.is_empty());
}

fn parking() -> Rules {
    Rules { parks: true, ..rules() }
}

fn too_large() -> Result<(), PublishError> {
    Err(PublishError::TooLarge("134217729 bytes".to_owned()))
}

#[test]
fn a_message_that_is_too_large_in_every_form_is_parked_and_only_then_acknowledged() {
    let mut world = World::started(parking(), arrival(Message::new("body").with_id("m1")));
    world.fail("x").judge(verdict(Action::DeadLetter { label: None }));
    for _ in 0..4 {
        world.publish_ends(too_large());
    }
    let Pending::Park(parcel) = &world.pending else { panic!("it is not parked: {:?}", world.pending) };
    assert_eq!((parcel.id.as_str(), parcel.attempts, parcel.error.kind.as_str()), ("m1", 1, "x"));
    assert!(parcel.refusal.contains("134217729 bytes"), "{}", parcel.refusal);
    assert_eq!(parcel.message.headers.len(), 0, "the sender's message, not a copy");
    world.parked(Ok("parked/m1.json".to_owned()));
    assert!(matches!(world.reports.last(), Some(EventKind::Parked { file, .. }) if file == "parked/m1.json"));
    assert_eq!(world.settled(), Ending::Parked);
    assert!(world.pauses.is_empty(), "it concerns this message alone");
}

#[test]
fn a_message_that_is_refused_for_what_it_is_is_parked_at_once() {
    let mut world = World::started(parking(), arrival(Message::new("body")));
    world.fail("x").judge(verdict(Action::DeadLetter { label: None }));
    world.publish_ends(Err(PublishError::Refused("bad".to_owned())));
    world.parked(Ok("parked/m1.json".to_owned()));
    assert_eq!(world.settled(), Ending::Parked);
}

#[test]
fn a_message_that_cannot_be_parked_is_held_and_tried_again() {
    let mut rules = parking();
    rules.requeue_is_safe = false;
    let mut world = World::started(rules, arrival(Message::new("body")));
    world.fail("x").judge(verdict(Action::DeadLetter { label: None }));
    for _ in 0..4 {
        world.publish_ends(too_large());
    }
    let mut waits = Vec::new();
    for _ in 0..3 {
        world.parked(Err("no space left on device".to_owned()));
        waits.push(world.wait());
        world.publish_ends(too_large());
    }
    assert!(waits.is_sorted() && waits[0] < waits[2], "{waits:?}");
    let said = world.reports.iter().any(
        |report| matches!(report, EventKind::PublishFailed { error, intake_paused: false, .. } if error.contains("no space left")),
    );
    assert!(said, "{:?}", world.reports);
    world.parked(Ok("parked/m1.json".to_owned()));
    assert_eq!(world.settled(), Ending::Parked);
}

#[test]
fn a_message_that_is_lost_while_it_is_parked_is_remembered() {
    let mut world = World::started(parking(), arrival(Message::new("body")));
    world.fail("x").judge(verdict(Action::DeadLetter { label: None }));
    world.publish_ends(Err(PublishError::Refused("bad".to_owned())));
    world.give(Input::Lost);
    world.parked(Ok("parked/m1.json".to_owned()));
    assert_eq!(world.ending(), Ending::Lost { durable: true });
}

#[test]
fn a_retry_that_would_outlast_the_brokers_patience_goes_back_to_the_broker_first_where_there_is_no_tier() {
    let mut rules = rules();
    rules.tiers.clear();
    rules.max_hold = Duration::from_secs(60);
    let mut world = World::started(rules.clone(), arrival(Message::new("body")));
    for _ in 0..2 {
        world.fail("x").judge(verdict(Action::Retry { delay_ms: 25_000 }));
        world.wait();
    }
    world.fail("x").judge(verdict(Action::Retry { delay_ms: 25_000 }));
    assert_eq!(world.wait(), Duration::from_secs(25), "not before it is due");
    assert_eq!(world.pending, Pending::Settle(Settlement::Reject));
    world.settled();
    assert!(world.overridden().unwrap().contains("1m"));

    rules.requeue_is_safe = false;
    let mut world = World::started(rules, arrival(Message::new("body")));
    for _ in 0..9 {
        world.fail("x").judge(verdict(Action::Retry { delay_ms: 25_000 }));
        world.wait();
    }
    assert_eq!(world.attempts.len(), 10, "what the broker would throw away stays here");
}

#[test]
fn a_judged_message_that_goes_back_undecided_is_not_counted_twice() {
    let mut world = World::started(rules(), judged(Message::new("body")));
    world.judge(verdict(Action::DeadLetter { label: None }));
    world.give(Input::Shutdown);
    world.publish_ends(outage());
    assert_eq!(world.settled(), Ending::Released);
    assert_eq!(world.known_starts().starts, 0);
}
