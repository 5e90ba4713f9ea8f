//! Whatever the order of events, the laws hold. [`World`] checks them at each step; here the order is drawn.

use proptest::prelude::*;

use super::world::{Pending, World, arrival, fault, judged, rules, verdict};
use crate::broker::{PublishError, SettleError, Settlement};
use crate::delivery::{Arrival, Input, KnownStarts, Rules};
use crate::message::Message;
use crate::verdict::{Action, Decision, FaultKind};

/// Steps that a delivery may take once everything that it asks for works.
const FAIR_STEPS: usize = 40;

fn any_rules() -> impl Strategy<Value = Rules> {
    (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), 0..5_u32, 1..4_u32).prop_map(
        |(tiers, dead_letters, safe, parks, attempts, tries)| {
            let mut rules = rules();
            if !tiers {
                rules.tiers.clear();
            }
            if !dead_letters {
                rules.dead_letters.clear();
            }
            rules.requeue_is_safe = safe;
            rules.parks = parks;
            rules.retry.max_attempts = attempts;
            rules.publish.tries = tries;
            rules
        },
    )
}

fn any_arrival() -> impl Strategy<Value = Arrival> {
    (any::<bool>(), any::<u32>(), proptest::option::of(0..100_000_u32), any::<u32>()).prop_map(
        |(judge, attempts, expiration, starts)| {
            let mut message =
                Message::new("body").with_header("reprieve-route", "orders").with_header("reprieve-attempts", attempts);
            message.properties.expiration = expiration.map(|ms| ms.to_string());
            let known = KnownStarts { starts, ..KnownStarts::default() };
            Arrival { known, ..if judge { judged(message) } else { arrival(message) } }
        },
    )
}

/// One of the things that can come of what is pending, or a blow from outside.
fn step(world: &mut World, choice: u8) {
    let blow = match choice {
        0 => Some(Input::Lost),
        1 | 2 => Some(Input::Shutdown),
        3 => Some(Input::Abort),
        _ => None,
    };
    if let Some(blow) = blow {
        world.give(blow);
        return;
    }
    match world.pending {
        Pending::Handler { .. } if choice.is_multiple_of(3) => world.succeed(),
        Pending::Handler { .. } => world.fail("x"),
        Pending::Policy(_) => world.judge(any_decision(choice)),
        Pending::Timer(_) => world.pass(),
        Pending::Publish(_) => world.publish_ends(match choice % 4 {
            0 => Err(PublishError::Outage("no confirm".to_owned())),
            1 => Err(PublishError::Refused("no".to_owned())),
            2 => Err(PublishError::TooLarge("no".to_owned())),
            _ => Ok(()),
        }),
        Pending::Park(_) if choice.is_multiple_of(2) => world.parked(Err("disk full".to_owned())),
        Pending::Park(_) => world.parked(Ok("file".to_owned())),
        Pending::Settle(_) => world.settle_ends(match choice % 4 {
            0 => Err(SettleError::Retry("busy".to_owned())),
            1 => Err(SettleError::Gone("channel closed".to_owned())),
            2 if world.pending == Pending::Settle(Settlement::Reject) => {
                Err(SettleError::NoRoom("the window is full".to_owned()))
            }
            _ => Ok(()),
        }),
        Pending::Nothing | Pending::End(_) => world,
    };
}

fn any_decision(choice: u8) -> Decision {
    match choice % 8 {
        0 => verdict(Action::Retry { delay_ms: 0 }),
        1 => verdict(Action::Retry { delay_ms: u64::MAX }),
        2 => verdict(Action::Delay { delay_ms: 60_000 }),
        3 => verdict(Action::DelayTo { tier: "30s".to_owned() }),
        4 => verdict(Action::DeadLetter { label: None }),
        5 => verdict(Action::Requeue { cooldown_ms: None }),
        6 => verdict(Action::Drop),
        _ => fault(FaultKind::Trap),
    }
}

/// From here on everything works: handlers succeed, publishes are confirmed, policies end it.
fn play_fairly(world: &mut World) {
    for _ in 0..FAIR_STEPS {
        match world.pending {
            Pending::Handler { .. } => world.succeed(),
            Pending::Policy(_) => world.judge(verdict(Action::Drop)),
            Pending::Timer(_) => world.pass(),
            Pending::Publish(_) => world.confirm(),
            Pending::Park(_) => world.parked(Ok("file".to_owned())),
            Pending::Settle(_) => world.settle_ends(Ok(())),
            Pending::Nothing | Pending::End(_) => return,
        };
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn every_delivery_ends_and_none_breaks_a_law(
        rules in any_rules(),
        arrival in any_arrival(),
        choices in proptest::collection::vec(any::<u8>(), 0..60),
    ) {
        let mut world = World::started(rules, arrival);
        for choice in choices {
            step(&mut world, choice);
        }
        play_fairly(&mut world);
        prop_assert!(matches!(world.pending, Pending::End(_)), "it never ends: {:?}", world.pending);
    }

    #[test]
    fn attempts_only_ever_count_up(choices in proptest::collection::vec(4_u8.., 0..60)) {
        let mut world = World::started(rules(), arrival(Message::new("body")));
        for choice in choices {
            step(&mut world, choice);
        }
        prop_assert!(world.attempts.iter().enumerate().all(|(index, attempt)| *attempt as usize == index + 1));
    }
}
