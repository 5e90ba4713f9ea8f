//! From what a policy said to what the host does: the nearest safe outcome, and why where it differs (rule 7).

use std::time::Duration;

use serde::{Serialize, Serializer};

use super::Rules;
use super::rules::DEFAULT_LABEL;
use crate::failure::Failure;
use crate::handler_error::HandlerError;
use crate::timestamp::{Timestamp, millis};
use crate::topic::{Tier, Topic};
use crate::verdict::Action;

/// What the host will do.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Outcome {
    /// Wait in this process, then run (or judge) again.
    #[serde(rename = "retry")]
    Again {
        /// How long; at least a millisecond.
        #[serde(rename = "wait_ms", serialize_with = "as_millis")]
        wait: Duration,
    },
    /// Publish to this tier; the message is due then, which may take more hops.
    Delay {
        /// The first tier that it passes.
        tier: Tier,
        /// It is not handled before.
        due: Timestamp,
    },
    /// Publish to this dead-letter topic.
    DeadLetter {
        /// Where.
        topic: Topic,
    },
    /// Hold for the cool-down, then hand back.
    Requeue {
        /// How long; at least a millisecond.
        #[serde(rename = "cooldown_ms", serialize_with = "as_millis")]
        cooldown: Duration,
    },
    /// Acknowledge.
    Drop,
}

/// What beside the verdict decides the outcome.
#[derive(Debug, Clone, Copy)]
pub struct Situation {
    /// When the verdict was given.
    pub now: Timestamp,
    /// When the message expires.
    pub expires_at: Option<Timestamp>,
    /// Times that this copy was handed back before.
    pub requeues: u32,
    /// How long this delivery has been here.
    pub held: Duration,
    /// There is a handler here to run again; else the message goes back to where it failed.
    pub has_handler: bool,
    /// There is a queue for a delayed message to come back to.
    pub can_return: bool,
    /// Its attempts ended without a result until none is left: it must not be handled again.
    pub interrupted: bool,
}

impl Situation {
    /// A delivery that failed just now, as soon as it arrived, on a route with a handler.
    #[must_use]
    pub fn just_arrived(failure: &Failure) -> Self {
        Self {
            now: failure.now,
            expires_at: failure.expires_in_ms.map(|left| failure.now.after(Duration::from_millis(left))),
            requeues: 0,
            held: Duration::ZERO,
            has_handler: true,
            can_return: true,
            interrupted: failure.error.kind == HandlerError::INTERRUPTED,
        }
    }
}

fn as_millis<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(millis(*duration))
}

/// The outcome, and why it is not what was said.
pub(super) type Resolved = (Outcome, Option<String>);

pub(super) fn resolve(action: &Action, situation: Situation, rules: &Rules) -> Resolved {
    match action {
        Action::Retry { .. } | Action::Delay { .. } | Action::DelayTo { .. } | Action::Requeue { .. }
            if situation.interrupted =>
        {
            let why = "its attempts ended without a result too often: another one may end the host again";
            last_resort(why.to_owned(), situation, rules)
        }
        Action::Retry { delay_ms } => retry(*delay_ms, situation, rules),
        Action::Delay { delay_ms } => delay(*delay_ms, situation, rules),
        Action::DelayTo { tier } => match rules.tiers.iter().find(|t| t.name == *tier) {
            Some(tier) => through(tier, millis(tier.delay), None, situation, rules),
            None => last_resort(format!("the route has no tier {tier:?}"), situation, rules),
        },
        Action::DeadLetter { label } => dead_letter(label.as_deref(), situation, rules),
        Action::Requeue { cooldown_ms } => requeue(*cooldown_ms, situation, rules),
        Action::Drop => (Outcome::Drop, None),
    }
}

fn retry(delay_ms: u64, situation: Situation, rules: &Rules) -> Resolved {
    let wait = Duration::from_millis(delay_ms);
    let why = if !situation.has_handler {
        "there is no handler here: a retry goes back to its origin through a tier".to_owned()
    } else if wait > rules.max_retry_delay {
        let limit = humantime::format_duration(rules.max_retry_delay);
        format!("a retry may hold its slot for {limit} at most: a longer one goes through a tier")
    } else if situation.held.saturating_add(wait) > rules.max_hold
        && (rules.requeue_is_safe || tier_for(wait, rules).is_some())
    {
        let limit = humantime::format_duration(rules.max_hold);
        if tier_for(wait, rules).is_none() {
            // Handed over anew it may be held as long again. It comes back no sooner than the retry was due.
            let why =
                format!("the broker lets a delivery be held for {limit} in all: it is handed back when it is due");
            return match outlives(situation.now.after(wait), situation) {
                Some(why) => last_resort(why, situation, rules),
                None => (Outcome::Requeue { cooldown: wait.max(Duration::from_millis(1)) }, Some(why)),
            };
        }
        format!("the broker lets a delivery be held for {limit} in all: the next retry goes through a tier")
    } else {
        return match outlives(situation.now.after(wait), situation) {
            Some(why) => last_resort(why, situation, rules),
            // A retry at once would let a failing handler spin.
            None => (Outcome::Again { wait: wait.max(Duration::from_millis(1)) }, None),
        };
    };
    let (outcome, further) = delay(delay_ms, situation, rules);
    (outcome, Some(further.map_or(why.clone(), |further| format!("{why}; {further}"))))
}

fn delay(delay_ms: u64, situation: Situation, rules: &Rules) -> Resolved {
    let most = millis(rules.max_delay);
    let longest_tier = rules.tiers.last().map(|tier| millis(tier.delay));
    let (delay_ms, why) = match longest_tier {
        // Whoever consumes the origin does not know of due times, so there is no second hop.
        Some(longest) if !situation.has_handler && delay_ms > longest => {
            (longest, Some("the longest tier is as long as a delay can be on a route without a handler".to_owned()))
        }
        _ if delay_ms > most => {
            let limit = humantime::format_duration(rules.max_delay);
            (most, Some(format!("the longest delay is {limit}")))
        }
        _ => (delay_ms, None),
    };
    match tier_for(Duration::from_millis(delay_ms), rules) {
        Some(tier) => through(tier, delay_ms, why, situation, rules),
        None if situation.has_handler && Duration::from_millis(delay_ms) <= rules.max_retry_delay => {
            let (outcome, further) = retry(delay_ms, situation, rules);
            (
                outcome,
                further.or_else(|| Some("the route has no tiers: a short delay is a retry in process".to_owned())),
            )
        }
        None => last_resort("the route has no tiers".to_owned(), situation, rules),
    }
}

/// The tier that a delay is rounded up to; for one beyond them all the longest, which brings it nearer.
pub(super) fn tier_for(delay: Duration, rules: &Rules) -> Option<&Tier> {
    rules.tiers.iter().find(|tier| tier.delay >= delay).or(rules.tiers.last())
}

/// Through this tier, if the message lives that long and has somewhere to come back to.
fn through(tier: &Tier, delay_ms: u64, why: Option<String>, situation: Situation, rules: &Rules) -> Resolved {
    if !situation.can_return {
        return last_resort("it is not known which queue the message failed on".to_owned(), situation, rules);
    }
    let due = situation.now.after(tier.delay.max(Duration::from_millis(delay_ms)));
    match outlives(due, situation) {
        Some(why) => last_resort(why, situation, rules),
        None => (Outcome::Delay { tier: tier.clone(), due }, why),
    }
}

/// Why a message must not come back at `due`: it has expired by then, and a tier revives nothing.
fn outlives(due: Timestamp, situation: Situation) -> Option<String> {
    let expires_at = situation.expires_at?;
    (expires_at <= due).then(|| format!("the message expires at {expires_at}, before it would be back"))
}

fn dead_letter(label: Option<&str>, situation: Situation, rules: &Rules) -> Resolved {
    let wanted = label.unwrap_or(DEFAULT_LABEL);
    match rules.dead_letters.get(wanted) {
        Some(topic) => (Outcome::DeadLetter { topic: topic.clone() }, None),
        None => last_resort(format!("the route has no dead-letter topic labelled {wanted:?}"), situation, rules),
    }
}

fn requeue(cooldown_ms: Option<u64>, situation: Situation, rules: &Rules) -> Resolved {
    if !rules.requeue_is_safe {
        return last_resort("the broker may throw away a message that is handed back".to_owned(), situation, rules);
    }
    let (outcome, asked) = (hand_back(situation, rules), Duration::from_millis(cooldown_ms.unwrap_or(0)));
    match outcome {
        Outcome::Requeue { cooldown } if asked > rules.requeue.max => {
            let limit = humantime::format_duration(rules.requeue.max);
            (
                Outcome::Requeue { cooldown: cooldown.max(rules.requeue.max) },
                Some(format!("the longest cool-down is {limit}")),
            )
        }
        Outcome::Requeue { cooldown } => (Outcome::Requeue { cooldown: cooldown.max(asked) }, None),
        outcome => (outcome, None),
    }
}

/// Dead-letter where there is a topic, else hand back with a cool-down, else hold on to it. Never drop.
fn last_resort(why: String, situation: Situation, rules: &Rules) -> Resolved {
    let outcome = match rules.dead_letters.get(DEFAULT_LABEL) {
        Some(topic) => Outcome::DeadLetter { topic: topic.clone() },
        None => hand_back(situation, rules),
    };
    (outcome, Some(why))
}

fn hand_back(situation: Situation, rules: &Rules) -> Outcome {
    let cooldown = rules.requeue.after(situation.requeues);
    if rules.requeue_is_safe {
        Outcome::Requeue { cooldown }
    } else {
        Outcome::Again { wait: rules.requeue.max.max(cooldown) }
    }
}
