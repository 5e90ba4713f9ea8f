//! Getting a copy out: forms, tries, back-off, and the ack that follows only then.

use std::time::Duration;

use super::{Machine, Next, State, report};
use crate::broker::{PublishError, Target};
use crate::delivery::copy::{Form, Note, copy, pass_on};
use crate::delivery::resolve::tier_for;
use crate::delivery::rules::DEFAULT_LABEL;
use crate::delivery::{Circumstances, Effect, Ending, Pause, Publication};
use crate::event::{EventKind, Ruling, Subject};
use crate::handler_error::HandlerError;
use crate::timestamp::Timestamp;
use crate::topic::Tier;
use crate::verdict::{Action, Verdict};

/// A message that comes back this much before it is due waits here rather than in another tier: the clocks
/// of hosts and brokers differ by less.
const EARLY: Duration = Duration::from_secs(5);

/// An outage's pause lasts until the next try has had its answer, which takes no longer.
const LONGEST_TRY: Duration = Duration::from_secs(15);

#[derive(Debug, Clone)]
pub(super) struct Publishing {
    pub(super) copy: Copied,
    pub(super) form: Form,
    pub(super) tries: u32,
    pub(super) outage: bool,
}

/// A copy to be published, and what stands for it once it is.
#[derive(Debug, Clone)]
pub(super) struct Copied {
    pub(super) id: String,
    pub(super) error: HandlerError,
    pub(super) failed_at: Timestamp,
    /// `None` for a message that is only sent on to its next hop.
    pub(super) ruling: Option<Ruling>,
    pub(super) to: Destination,
}

#[derive(Debug, Clone)]
pub(super) enum Destination {
    Tier { target: Target, tier: String, due: Timestamp },
    DeadLetter(Target),
}

impl Machine {
    pub(super) fn publish(&mut self, publishing: Box<Publishing>, effects: &mut Vec<Effect>) -> State {
        let Copied { id, error, failed_at, ruling, to } = &publishing.copy;
        if let (None, Destination::Tier { target, tier, .. }) = (ruling, to) {
            let message = pass_on(&self.arrival, &self.past, tier, &self.rules);
            effects.push(Effect::Publish(Box::new(Publication { target: target.clone(), message })));
            return State::Publishing(publishing);
        }
        let (target, tier) = match to {
            Destination::Tier { target, tier, due } => (target, Some((tier.as_str(), *due))),
            Destination::DeadLetter(target) => (target, None),
        };
        let verdict = ruling.as_ref().map(|ruling| &ruling.verdict);
        let note = Note {
            id,
            attempts: self.attempt,
            error,
            failed_at: *failed_at,
            reason: verdict.map_or("", |verdict| verdict.reason.as_str()),
            maker: ruling.as_ref().and_then(|ruling| ruling.maker.as_ref()),
            tier,
            expires_at: self.past.expires_at,
            origin_topic: self.origin_topic(),
            headers: verdict.map_or(&[], |verdict| verdict.headers.as_slice()),
        };
        let message = copy(&self.arrival, &self.past, &note, &self.rules, publishing.form);
        effects.push(Effect::Publish(Box::new(Publication { target: target.clone(), message })));
        State::Publishing(publishing)
    }

    pub(super) fn published(
        &mut self,
        mut publishing: Box<Publishing>,
        result: Result<(), PublishError>,
        now: Timestamp,
        effects: &mut Vec<Effect>,
    ) -> State {
        let error = match result {
            Ok(()) => return self.is_durable(publishing, effects),
            Err(PublishError::TooLarge(_)) if publishing.smaller() => return self.publish(publishing, effects),
            Err(PublishError::Refused(why) | PublishError::TooLarge(why))
                if self.dead_letters_instead(&mut publishing, &why) =>
            {
                return self.publish(publishing, effects);
            }
            Err(error @ (PublishError::Refused(_) | PublishError::TooLarge(_))) if self.rules.parks => {
                return self.park(publishing, error.to_string(), effects);
            }
            Err(error) => error,
        };
        self.hold(publishing, &error, now, effects)
    }

    /// Tries again after a while, as long as the delivery can be held.
    pub(super) fn hold(
        &mut self,
        mut publishing: Box<Publishing>,
        error: &PublishError,
        now: Timestamp,
        effects: &mut Vec<Effect>,
    ) -> State {
        publishing.tries = publishing.tries.saturating_add(1);
        let wait = self.rules.publish.backoff.after(publishing.tries - 1);
        // Out of reach for all, or only for this message: the first concerns the route.
        let outage = matches!(error, PublishError::Outage(_));
        publishing.outage |= outage;
        effects.push(report(EventKind::PublishFailed {
            subject: self.subject(),
            target: publishing.copy.to.target().to_string(),
            error: error.to_string(),
            tries: publishing.tries,
            intake_paused: outage,
        }));
        if outage {
            let until = now.after(wait).after(LONGEST_TRY);
            effects.push(Effect::PauseIntake(Pause { outage, until, why: error.to_string() }));
        }
        if self.lost {
            return self.give_up(effects);
        }
        if self.stopping {
            return self.release("shutdown", effects);
        }
        if publishing.tries >= self.rules.publish.tries.max(1) && self.rules.requeue_is_safe {
            let cooldown = self.rules.requeue.after(self.arrival.known.requeues);
            self.arrival.known.requeues = self.arrival.known.requeues.saturating_add(1);
            let why = "publishing did not get through";
            let report = Box::new(EventKind::Released { subject: self.subject(), why });
            return self.hand_back(cooldown, Some(report), Some(publishing), effects);
        }
        effects.push(Effect::Wait(wait));
        State::Waiting(Next::Publish(publishing))
    }

    /// Turns a delay that the broker will never take, such as one to a queue that is gone, into a dead letter.
    fn dead_letters_instead(&self, publishing: &mut Publishing, why: &str) -> bool {
        let Destination::Tier { tier, .. } = &publishing.copy.to else { return false };
        let Some(topic) = self.rules.dead_letters.get(DEFAULT_LABEL) else { return false };
        let overridden = Some(format!("tier {tier} cannot take it: {why}"));
        publishing.copy.ruling = Some(Ruling { overridden, ..publishing.ruling() });
        publishing.copy.to = Destination::DeadLetter(Target::Topic(topic.clone()));
        true
    }

    /// The copy is durable: now the delivery may be acknowledged, and not before (rule 1).
    pub(super) fn is_durable(&mut self, publishing: Box<Publishing>, effects: &mut Vec<Effect>) -> State {
        if publishing.outage {
            effects.push(Effect::ResumeIntake);
        }
        // With the id that the copy has, and the message may lack.
        let subject = Subject { id: Some(publishing.copy.id.clone()), ..self.subject() };
        let (ending, event) = match (publishing.copy.to, publishing.copy.ruling) {
            (Destination::Tier { tier, due, .. }, ruling) => {
                (Ending::Delayed, ruling.map(|ruling| EventKind::Delayed { subject, ruling, tier, due }))
            }
            (Destination::DeadLetter(target), ruling) => (
                Ending::DeadLettered,
                ruling.map(|ruling| EventKind::DeadLettered { subject, ruling, topic: target.to_string() }),
            ),
        };
        effects.extend(event.map(report));
        self.acknowledge(ending, None, effects)
    }

    /// The id for a message that came without one: made once, so that every try publishes the same copy.
    pub(super) fn copy_id(&self, seed: u64, now: Timestamp) -> String {
        match &self.arrival.message.id {
            Some(id) => id.clone(),
            None => uuid::Builder::from_custom_bytes(uuid::Uuid::from_u64_pair(now.0, seed).into_bytes())
                .into_uuid()
                .to_string(),
        }
    }

    /// The error that an earlier copy noted, for a message that is only sent on.
    pub(super) fn noted_error(&self) -> HandlerError {
        let text = |name: &str| self.arrival.message.headers.text(name).unwrap_or_default();
        HandlerError::new(text(&self.rules.names.error_kind), text(&self.rules.names.error))
    }

    pub(super) fn back_through(&self, tier: &Tier) -> Target {
        Target::Tier {
            tier: tier.clone(),
            route: self.rules.route.to_string(),
            back_to: self.origin_topic().to_owned(),
        }
    }

    /// A message never comes back before its due time: the rest is waited for here, or in another tier.
    pub(super) fn wait_for_due(
        &mut self,
        early: Duration,
        circumstances: Circumstances,
        now: Timestamp,
        effects: &mut Vec<Effect>,
    ) -> State {
        match tier_for(early, &self.rules).filter(|_| early > EARLY) {
            // A source that may lose what is handed back keeps it here, however long that is (rule 5).
            None if early <= self.rules.max_retry_delay || !self.rules.requeue_is_safe => {
                effects.push(Effect::Wait(early));
                State::Waiting(Next::Attempt)
            }
            // Nothing here can write a nearer time on it, so it would be as far from due each time that it comes by.
            None if self.past.due_is_foreign => {
                let why = "it says that it is due later than this route may delay, and no tier can take it";
                let error = HandlerError::new("not-due", why);
                let failure = self.failure(error, circumstances, now);
                self.rule(&failure, Verdict::new(Action::DeadLetter { label: None }, why), None, None, now, effects)
            }
            // Its tier has left the configuration: it comes by again until it is due.
            None => self.hand_back(self.rules.requeue.max, None, None, effects),
            Some(tier) => {
                let due = now.after(early.max(tier.delay));
                let to = Destination::Tier { target: self.back_through(tier), tier: tier.name.clone(), due };
                let error = self.noted_error();
                let failed_at = self.past.first_failed_at.unwrap_or(now);
                let copy = Copied { id: self.copy_id(circumstances.seed, now), error, failed_at, ruling: None, to };
                self.publish(Publishing::new(copy), effects)
            }
        }
    }
}

impl Publishing {
    pub(super) fn new(copy: Copied) -> Box<Self> {
        Box::new(Self { copy, form: Form::Full, tries: 0, outage: false })
    }

    /// The ruling, or what stands for it where a message is only sent on.
    pub(super) fn ruling(&mut self) -> Ruling {
        let error_kind = self.copy.error.kind.clone();
        self.copy.ruling.take().unwrap_or_else(|| Ruling {
            error_kind,
            maker: None,
            verdict: Verdict::new(Action::Delay { delay_ms: 0 }, "not due yet"),
            fault: None,
            overridden: None,
        })
    }

    /// Turns to a smaller form. What is to be handled again keeps the sender's headers.
    pub(super) fn smaller(&mut self) -> bool {
        let next = match (self.form, &self.copy.to) {
            // What is passed on is not made anew.
            (_, Destination::Tier { .. }) if self.copy.ruling.is_none() => return false,
            (Form::Full, _) => Form::Short,
            (Form::Short, Destination::DeadLetter(_)) => Form::Minimal,
            (Form::Minimal, Destination::DeadLetter(_)) => Form::Bare,
            _ => return false,
        };
        self.form = next;
        true
    }
}

impl Destination {
    pub(super) fn target(&self) -> &Target {
        match self {
            Self::Tier { target, .. } | Self::DeadLetter(target) => target,
        }
    }
}
