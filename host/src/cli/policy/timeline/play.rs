//! Plays a failure forward with the machine that the host runs: only the clock, the handler and the broker are made up.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use crate::broker::{Origin, Target};
use crate::delivery::{
    Arrival, Circumstances, Effect, Ending, FailedElsewhere, Input, KnownStarts, Machine, Publication, Rules, Work,
};
use crate::event::{EventKind, Ruling};
use crate::failure::Failure;
use crate::message::Message;
use crate::timestamp::Timestamp;
use crate::verdict::Decision;

/// What is played.
pub(super) struct Script {
    /// The message, the error that every attempt fails with, the clock at the start, health and seed.
    pub(super) failure: Failure,
    /// How long each attempt runs before it fails.
    pub(super) handler_time: Duration,
    /// After so many failed attempts the play ends, whatever would follow; at least 1.
    pub(super) attempts: u32,
    /// What the host remembers of this copy at the start.
    pub(super) known: KnownStarts,
    /// Messages fail elsewhere, and arrive failed.
    pub(super) judge_only: bool,
}

/// What became of the message.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Play {
    pub(super) steps: Vec<Step>,
    pub(super) end: End,
    /// From the first arrival to the last failure that was decided.
    pub(super) total_ms: u64,
}

impl Play {
    /// From the first arrival to the end of the last wait.
    pub(super) fn span_ms(&self) -> u64 {
        let ends = self.steps.iter().map(|step| step.at_ms.saturating_add(step.outcome.wait_ms().unwrap_or(0)));
        ends.max().unwrap_or(0)
    }
}

/// A failed attempt and what followed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Step {
    /// The attempt that failed, from 1.
    pub(super) attempt: u32,
    /// When it failed, since the first arrival.
    pub(super) at_ms: u64,
    /// What the host does.
    #[serde(flatten)]
    pub(super) outcome: Outcome,
    /// The verdict, and where the outcome differs, why.
    #[serde(flatten)]
    pub(super) ruling: Ruling,
    /// Its wait is over.
    #[serde(skip)]
    is_back: bool,
}

/// What the host does about a failure.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub(super) enum Outcome {
    Retry { wait_ms: u64 },
    Delay { tier: String, wait_ms: u64 },
    Requeue { wait_ms: u64 },
    DeadLetter { topic: String },
    Drop,
}

impl Outcome {
    /// How long nothing happens.
    pub(super) const fn wait_ms(&self) -> Option<u64> {
        match self {
            Self::Retry { wait_ms } | Self::Delay { wait_ms, .. } | Self::Requeue { wait_ms } => Some(*wait_ms),
            Self::DeadLetter { .. } | Self::Drop => None,
        }
    }
}

/// Where it ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "how", rename_all = "kebab-case")]
pub(super) enum End {
    DeadLettered {
        topic: String,
    },
    Dropped,
    /// Not before the last attempt that was asked for.
    GoesOn,
}

/// As many times the broker hands a message over at most: a week in the tier of 30s takes 20,160 hops, and what says that it
/// is due in ages comes by for ever.
const MOST_DELIVERIES: usize = 50_000;

pub(super) fn play(script: &Script, rules: Rules, mut judge: impl FnMut(&Arc<Failure>) -> Decision) -> Play {
    let start = script.failure.now;
    let mut player = Player { script, rules: Arc::new(rules), now: start, steps: Vec::new() };
    let mut message = Arc::clone(&script.failure.message);
    let (mut known, mut redelivered) = (script.known, script.failure.redelivered);
    let mut end = End::GoesOn;
    for _ in 0..MOST_DELIVERIES {
        let arrival = Arrival {
            message: Arc::clone(&message),
            origin: Origin::default(),
            redelivered,
            known,
            work: player.work(),
            at: player.now,
        };
        match player.deliver(arrival, &mut judge) {
            Delivered::Delayed(copy) => (message, known, redelivered) = (copy, KnownStarts::default(), false),
            Delivered::Requeued(starts) => (known, redelivered) = (starts, true),
            Delivered::Ended(how) => {
                end = how;
                break;
            }
        }
    }
    let total_ms = player.steps.last().map_or(0, |step| step.at_ms);
    Play { end, total_ms, steps: player.steps }
}

struct Player<'s> {
    script: &'s Script,
    rules: Arc<Rules>,
    now: Timestamp,
    steps: Vec<Step>,
}

enum Delivered {
    /// It is back from its tier.
    Delayed(Arc<Message>),
    Requeued(KnownStarts),
    Ended(End),
}

impl Player<'_> {
    fn work(&self) -> Work {
        if !self.script.judge_only {
            return Work::Handle;
        }
        let back_to = Some(self.rules.source.to_string());
        Work::Judge(Box::new(FailedElsewhere { error: self.script.failure.error.clone(), back_to, unjudged: None }))
    }

    fn elapsed(&self) -> u64 {
        self.now.0 - self.script.failure.now.0
    }

    /// One hand-over by the broker, from its arrival to its end.
    fn deliver(&mut self, arrival: Arrival, judge: &mut impl FnMut(&Arc<Failure>) -> Decision) -> Delivered {
        let circumstances = Circumstances { health: self.script.failure.health, seed: self.script.failure.seed };
        let mut machine = Machine::new(Arc::clone(&self.rules), arrival);
        let (mut effects, mut inputs) = (Vec::new(), vec![Input::Start(circumstances)]);
        // The failure that is being decided, and the copy that is on its way.
        let (mut failed, mut copy) = (None, None);
        let mut ending = None;
        while let Some(input) = inputs.pop() {
            machine.handle(input, self.now, &mut effects);
            for effect in effects.drain(..) {
                match effect {
                    Effect::Run { .. } => {
                        self.is_back();
                        self.now = self.now.after(self.script.handler_time);
                        inputs.push(Input::Handled(Err(self.script.failure.error.clone()), circumstances));
                    }
                    Effect::Judge(failure) => {
                        self.is_back();
                        failed = Some((failure.attempt, self.elapsed()));
                        inputs.push(Input::Judged(judge(&failure)));
                    }
                    Effect::Report(kind) => {
                        let Some((outcome, ruling)) = self.outcome(*kind, failed) else { continue };
                        // A further hop through a tier decides nothing anew.
                        let Some((attempt, at_ms)) = failed.take() else { continue };
                        self.steps.push(Step { attempt, at_ms, outcome, ruling, is_back: false });
                    }
                    Effect::Wait(wait) => {
                        if self.is_over() {
                            return Delivered::Ended(End::GoesOn);
                        }
                        self.now = self.now.after(wait);
                        inputs.push(Input::Due(circumstances));
                    }
                    Effect::Publish(publication) => {
                        copy = Some(publication);
                        inputs.push(Input::Published(Ok(())));
                    }
                    // Every publish is confirmed here, so nothing is parked.
                    Effect::Park(_) => {}
                    Effect::Settle(_) => inputs.push(Input::Settled(Ok(()))),
                    Effect::Stop | Effect::PauseIntake(_) | Effect::ResumeIntake => {}
                    Effect::End(how) => ending = Some(how),
                }
            }
        }
        self.ended(ending, copy, &machine)
    }

    /// The message is out of its tier. The last of several hops may be longer than what was left to wait.
    fn is_back(&mut self) {
        let elapsed = self.elapsed();
        if let Some(Step { at_ms, outcome: Outcome::Delay { wait_ms, .. }, is_back, .. }) = self.steps.last_mut()
            && !std::mem::replace(is_back, true)
        {
            *wait_ms = elapsed - *at_ms;
        }
    }

    /// Whether there were as many attempts as are wanted.
    fn is_over(&self) -> bool {
        self.steps.len() >= self.script.attempts as usize
    }

    /// What a report says about a failure that was decided; nothing where it is about something else.
    fn outcome(&self, kind: EventKind, failed: Option<(u32, u64)>) -> Option<(Outcome, Ruling)> {
        let since_failure =
            |due: Timestamp| (due.0 - self.script.failure.now.0).saturating_sub(failed.map_or(0, |(_, at_ms)| at_ms));
        Some(match kind {
            EventKind::RetryScheduled { ruling, due, .. } => (Outcome::Retry { wait_ms: since_failure(due) }, ruling),
            EventKind::Delayed { ruling, tier, due, .. } => {
                (Outcome::Delay { tier, wait_ms: since_failure(due) }, ruling)
            }
            EventKind::Requeued { ruling, cooldown_ms, .. } => (Outcome::Requeue { wait_ms: cooldown_ms }, ruling),
            EventKind::DeadLettered { ruling, topic, .. } => (Outcome::DeadLetter { topic }, ruling),
            EventKind::Dropped { ruling, .. } => (Outcome::Drop, ruling),
            _ => return None,
        })
    }

    fn ended(&mut self, ending: Option<Ending>, copy: Option<Box<Publication>>, machine: &Machine) -> Delivered {
        match ending {
            // Also without an attempt: a message may claim to be due at a time that never comes.
            Some(Ending::DeadLettered) => match copy.map(|copy| copy.target) {
                Some(Target::Topic(topic)) => Delivered::Ended(End::DeadLettered { topic: topic.to_string() }),
                _ => unreachable!("what is dead-lettered was published to a topic"),
            },
            Some(Ending::Dropped) => Delivered::Ended(End::Dropped),
            _ if self.is_over() => Delivered::Ended(End::GoesOn),
            Some(Ending::Requeued) => Delivered::Requeued(machine.known_starts()),
            Some(Ending::Delayed) => match copy.map(|copy| *copy) {
                Some(Publication { target: Target::Tier { tier, .. }, message }) => {
                    self.now = self.now.after(tier.delay);
                    Delivered::Delayed(Arc::new(message))
                }
                _ => unreachable!("what is delayed was published to a tier"),
            },
            ending => unreachable!("nothing is lost and nobody stops the host: {ending:?}"),
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
