//! Rule 7: an infeasible verdict becomes the nearest safe outcome, visibly, and is never a drop.

use std::time::Duration;

use proptest::prelude::*;

use super::world::{START, World, arrival, judged, rules, tier, verdict};
use crate::broker::{PublishError, Target};
use crate::delivery::resolve::{Outcome, Situation, resolve};
use crate::delivery::{Ending, Pause, Rules};
use crate::message::Message;
use crate::verdict::Action;

fn judge(rules: Rules, action: Action) -> World {
    let mut world = World::started(rules, arrival(Message::new("body").with_id("m1")));
    world.fail("x").judge(verdict(action));
    world
}

fn dead_letter_queue() -> Target {
    Target::Topic("orders.dlq".into())
}

#[test]
fn a_retry_that_would_hold_its_slot_too_long_goes_through_a_tier() {
    let mut world = judge(rules(), Action::Retry { delay_ms: 61_000 });
    assert_eq!(
        world.target(),
        Target::Tier { tier: tier("5m"), route: "orders".to_owned(), back_to: "orders".to_owned() }
    );
    world.confirm();
    assert!(world.overridden().is_some_and(|why| why.contains("hold its slot for 1m")));
}

#[test]
fn a_delay_beyond_every_tier_takes_hops_and_keeps_its_due_time() {
    let day = 24 * 60 * 60 * 1000;
    let mut world = judge(rules(), Action::Delay { delay_ms: day });
    let publication = world.publication();
    assert_eq!(
        publication.target,
        Target::Tier { tier: tier("5m"), route: "orders".to_owned(), back_to: "orders".to_owned() }
    );
    let due = START.after(Duration::from_millis(day)).to_string();
    assert_eq!(publication.message.headers.text("reprieve-due"), Some(due.as_str()));
    world.confirm();
    assert_eq!(world.overridden(), None);
}

#[test]
fn a_delay_past_the_longest_is_cut_and_says_so() {
    let mut world = judge(rules(), Action::Delay { delay_ms: u64::MAX });
    world.confirm();
    assert!(world.overridden().is_some_and(|why| why.contains("longest delay is 7days")));
}

#[test]
fn a_pause_past_the_longest_is_cut_to_ten_minutes_and_a_shorter_one_is_not() {
    let minute = 60 * 1000;
    for (asked, given) in [(u64::MAX, 10 * minute), (10 * minute + 1, 10 * minute), (9 * minute, 9 * minute)] {
        let mut decision = verdict(Action::DeadLetter { label: None });
        decision.result.as_mut().unwrap().pause_intake = Some(asked);
        let mut world = World::started(rules(), arrival(Message::new("body").with_id("m1")));
        world.fail("x").judge(decision);
        let until = START.after(Duration::from_millis(given));
        assert_eq!(world.pauses, [Pause { outage: false, until, why: "because".to_owned() }]);
    }
}

#[test]
fn an_unknown_tier_is_a_dead_letter() {
    let mut world = judge(rules(), Action::DelayTo { tier: "1y".to_owned() });
    assert_eq!(world.target(), dead_letter_queue());
    world.confirm();
    assert_eq!(world.overridden().as_deref(), Some("the route has no tier \"1y\""));
}

#[test]
fn an_unknown_label_is_a_dead_letter_with_the_default_one() {
    let mut world = judge(rules(), Action::DeadLetter { label: Some("odd".to_owned()) });
    assert_eq!(world.target(), dead_letter_queue());
    world.confirm();
    assert!(world.overridden().is_some());
}

#[test]
fn a_known_label_goes_to_its_topic() {
    let world = judge(rules(), Action::DeadLetter { label: Some("invalid".to_owned()) });
    assert_eq!(world.target(), Target::Topic("orders.invalid".into()));
}

#[test]
fn a_dead_letter_without_a_topic_is_handed_back_and_not_dropped() {
    let mut rules = rules();
    rules.dead_letters.clear();
    let mut world = judge(rules, Action::DeadLetter { label: None });
    world.wait();
    assert_eq!(world.settled(), Ending::Requeued);
    assert!(world.overridden().is_some());
}

#[test]
fn without_tiers_a_short_delay_is_a_retry_and_a_long_one_a_dead_letter() {
    let mut rules = rules();
    rules.tiers.clear();
    let mut world = judge(rules.clone(), Action::Delay { delay_ms: 2_000 });
    assert_eq!(world.wait(), Duration::from_secs(2));
    assert!(world.overridden().is_some());
    assert_eq!(judge(rules, Action::Delay { delay_ms: 3_600_000 }).target(), dead_letter_queue());
}

#[test]
fn a_tier_does_not_revive_what_has_expired_by_then() {
    let mut message = Message::new("body");
    message.properties.expiration = Some("10000".to_owned());
    let mut world = World::started(rules(), arrival(message));
    world.fail("x").judge(verdict(Action::Delay { delay_ms: 1 }));
    assert_eq!(world.target(), dead_letter_queue());
}

#[test]
fn a_requeue_that_could_lose_the_message_is_a_dead_letter() {
    let mut rules = rules();
    rules.requeue_is_safe = false;
    let mut world = judge(rules, Action::Requeue { cooldown_ms: None });
    assert_eq!(world.target(), dead_letter_queue());
    world.confirm();
    assert!(world.overridden().is_some());
}

#[test]
fn where_there_is_no_safe_place_at_all_the_message_is_held_and_tried_again() {
    let mut rules = rules();
    rules.requeue_is_safe = false;
    rules.dead_letters.clear();
    let mut world = judge(rules, Action::Requeue { cooldown_ms: None });
    assert!(world.wait() >= Duration::from_secs(1));
    assert_eq!(world.attempts, [1, 2]);
}

#[test]
fn a_delay_that_the_broker_refuses_for_good_is_a_dead_letter() {
    let mut world = judge(rules(), Action::Delay { delay_ms: 1_000 });
    world.publish_ends(Err(PublishError::Refused("its queue is gone".to_owned())));
    assert_eq!(world.target(), dead_letter_queue());
    world.confirm();
    assert_eq!(world.settled(), Ending::DeadLettered);
    assert_eq!(world.overridden().as_deref(), Some("tier 30s cannot take it: its queue is gone"));
}

#[test]
fn retries_that_would_hold_a_delivery_too_long_in_all_go_through_a_tier() {
    let mut rules = rules();
    rules.max_hold = Duration::from_secs(60);
    let mut world = judge(rules, Action::Retry { delay_ms: 40_000 });
    world.wait();
    world.fail("x").judge(verdict(Action::Retry { delay_ms: 40_000 }));
    assert_eq!(
        world.target(),
        Target::Tier { tier: tier("5m"), route: "orders".to_owned(), back_to: "orders".to_owned() }
    );
    world.confirm();
    assert!(world.overridden().is_some_and(|why| why.contains("1m in all")));
}

#[test]
fn a_judged_message_takes_no_second_hop_since_its_consumer_knows_of_none() {
    let mut world = World::started(rules(), judged(Message::new("body")));
    world.judge(verdict(Action::Delay { delay_ms: 7_200_000 }));
    let publication = world.publication();
    assert_eq!(
        publication.target,
        Target::Tier { tier: tier("5m"), route: "orders".to_owned(), back_to: "billing".to_owned() }
    );
    let due = START.after(Duration::from_secs(300)).to_string();
    assert_eq!(publication.message.headers.text("reprieve-due"), Some(due.as_str()));
    world.confirm();
    assert!(world.overridden().is_some_and(|why| why.contains("longest tier")));
}

fn any_action() -> impl Strategy<Value = Action> {
    prop_oneof![
        any::<u64>().prop_map(|delay_ms| Action::Retry { delay_ms }),
        any::<u64>().prop_map(|delay_ms| Action::Delay { delay_ms }),
        "[a-z0-9]{0,3}|30s|5m".prop_map(|tier| Action::DelayTo { tier }),
        proptest::option::of("[a-z]{0,8}|invalid").prop_map(|label| Action::DeadLetter { label }),
        proptest::option::of(any::<u64>()).prop_map(|cooldown_ms| Action::Requeue { cooldown_ms }),
        Just(Action::Drop),
    ]
}

proptest! {
    #[test]
    fn nothing_but_a_verdict_to_drop_drops(
        action in any_action(),
        requeues in any::<u32>(),
        expires_in in proptest::option::of(any::<u64>()),
        held_ms in any::<u64>(),
        has_handler: bool,
        can_return: bool,
        has_tiers: bool,
        has_dead_letters: bool,
        requeue_is_safe: bool,
        interrupted: bool,
    ) {
        let mut rules = rules();
        rules.requeue_is_safe = requeue_is_safe;
        if !has_tiers { rules.tiers.clear(); }
        if !has_dead_letters { rules.dead_letters.clear(); }
        let expires_at = expires_in.map(|ms| START.after(Duration::from_millis(ms)));
        let situation = Situation { now: START, expires_at, requeues, held: Duration::from_millis(held_ms), has_handler, can_return, interrupted };
        let (outcome, why) = resolve(&action, situation, &rules);

        prop_assert_eq!(outcome == Outcome::Drop, action == Action::Drop);
        let differs = !matches!(
            (&outcome, &action),
            (Outcome::Again { .. }, Action::Retry { .. })
                | (Outcome::Delay { .. }, Action::Delay { .. } | Action::DelayTo { .. })
                | (Outcome::DeadLetter { .. }, Action::DeadLetter { .. })
                | (Outcome::Requeue { .. }, Action::Requeue { .. })
                | (Outcome::Drop, Action::Drop)
        );
        prop_assert!(!differs || why.is_some(), "{:?} became {:?} without a word", action, outcome);
        let is_held = Outcome::Again { wait: rules.requeue.max.max(rules.requeue.after(requeues)) };
        let comes_back = matches!(outcome, Outcome::Delay { .. } | Outcome::Again { .. }) && outcome != is_held;
        prop_assert!(!(interrupted && comes_back), "what ended the host is handled again");
        match outcome {
            Outcome::Again { wait } => prop_assert!(!wait.is_zero()),
            Outcome::Requeue { cooldown } => prop_assert!(!cooldown.is_zero() && requeue_is_safe),
            Outcome::Delay { tier, due } => {
                prop_assert!(due >= START.after(tier.delay));
                if let (Action::Delay { delay_ms } | Action::Retry { delay_ms }, None) = (&action, &why) {
                    prop_assert!(due >= START.after(Duration::from_millis(*delay_ms)), "back before its time");
                }
            }
            Outcome::DeadLetter { .. } | Outcome::Drop => {}
        }
    }
}
