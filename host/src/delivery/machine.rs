//! The states of a delivery, from its arrival to a ruling.

mod parking;
mod publishing;
mod settling;
mod stopping;

use std::sync::Arc;
use std::time::Duration;

use publishing::{Copied, Destination, Publishing};
use settling::Settling;

use super::arrival::Past;
use super::attributes::attributes;
use super::resolve::{Outcome, Resolved, Situation, resolve};
use super::rules::DEFAULT_LABEL;
use super::{
    Arrival, Circumstances, Effect, Ending, FailedElsewhere, Input, KnownStarts, Pause, Rules, Work, fallback,
};
use crate::broker::Target;
use crate::event::{EventKind, Ruling, Subject};
use crate::failure::Failure;
use crate::handler::Call;
use crate::handler_error::HandlerError;
use crate::timestamp::{Timestamp, millis};
use crate::verdict::{Action, Decision, Fault, Maker, Verdict};

/// A policy may stop a route's intake for so long at most; it can ask again. Prefetched messages wait with it, and
/// RabbitMQ takes those back after half an hour.
pub(super) const LONGEST_PAUSE: Duration = Duration::from_secs(10 * 60);

/// One delivery's life.
#[derive(Debug, Clone)]
pub struct Machine {
    rules: Arc<Rules>,
    arrival: Arrival,
    past: Past,
    /// Attempts begun on this message, as far as they are known.
    attempt: u32,
    state: State,
    /// The broker has taken the delivery back.
    lost: bool,
    /// The host is shutting down.
    stopping: bool,
    /// It goes back because a verdict says so.
    requeued: bool,
}

#[derive(Debug, Clone)]
enum State {
    // Deliveries sleep in their tens of thousands: what few of them carry is boxed.
    New,
    Running,
    Judging(Arc<Failure>),
    Waiting(Next),
    Publishing(Box<Publishing>),
    Parking(Box<Publishing>),
    Settling(Settling),
    Ended,
}

/// What follows a wait.
#[derive(Debug, Clone)]
enum Next {
    Attempt,
    Publish(Box<Publishing>),
    Settle(Settling),
}

impl Machine {
    /// A machine for a delivery that has just arrived. Nothing happens before [`Input::Start`].
    #[must_use]
    pub fn new(rules: Arc<Rules>, arrival: Arrival) -> Self {
        let past = Past::read(&arrival, &rules);
        let attempt = past.attempts.saturating_add(arrival.known.starts);
        Self { rules, arrival, past, attempt, state: State::New, lost: false, stopping: false, requeued: false }
    }

    /// Whether [`Effect::End`] was given.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        matches!(self.state, State::Ended)
    }

    /// Whether an attempt comes next, once the wait under way is over.
    #[must_use]
    pub fn awaits_attempt(&self) -> bool {
        matches!(self.state, State::Waiting(Next::Attempt))
    }

    /// The attempt as the handler is told of it.
    #[must_use]
    pub fn call(&self, attempt: u32) -> Call {
        Call {
            message: Arc::clone(&self.arrival.message),
            origin: self.arrival.origin.clone(),
            route: Arc::clone(&self.rules.route),
            attempt,
            redelivered: self.arrival.redelivered,
            own_traceparent: None,
        }
    }

    /// What the host should remember of this copy in case it comes back.
    #[must_use]
    pub fn known_starts(&self) -> KnownStarts {
        // Without a handler, an arrival counts only where it led to something: the consumer did not try again.
        let counts = matches!(self.arrival.work, Work::Handle) || self.requeued;
        let starts = self.attempt.saturating_sub(self.past.attempts);
        KnownStarts { starts: if counts { starts } else { self.arrival.known.starts }, ..self.arrival.known }
    }

    /// Takes one input and appends what is to be done. An input that does not fit the state (the answer to
    /// something that was stopped) changes nothing.
    pub fn handle(&mut self, input: Input, now: Timestamp, effects: &mut Vec<Effect>) {
        let state = std::mem::replace(&mut self.state, State::Ended);
        self.state = match (state, input) {
            (State::Ended, _) => State::Ended,
            (state, Input::Lost) => self.lose(state, effects),
            (state, Input::Shutdown) => self.shut_down(state, effects),
            (state, Input::Abort) => self.abort(state, effects),
            (State::New, Input::Start(circumstances)) => self.start(circumstances, now, effects),
            (State::Running, Input::Handled(Ok(()), _)) => self.succeeded(effects),
            (State::Running, Input::Handled(Err(error), circumstances)) => {
                self.failed(error, circumstances, now, effects)
            }
            (State::Judging(failure), Input::Judged(decision)) => self.judged(&failure, decision, now, effects),
            (State::Waiting(next), Input::Due(circumstances)) => self.proceed(next, circumstances, now, effects),
            (State::Publishing(publishing), Input::Published(result)) => {
                self.published(publishing, result, now, effects)
            }
            (State::Parking(publishing), Input::Parked(result)) => self.parked(publishing, result, now, effects),
            (State::Settling(settling), Input::Settled(result)) => self.settled(settling, result, effects),
            (state, _) => state,
        };
    }

    fn start(&mut self, circumstances: Circumstances, now: Timestamp, effects: &mut Vec<Effect>) -> State {
        if self.stopping {
            return self.release("shutdown", effects);
        }
        if let Work::Judge(elsewhere) = &self.arrival.work {
            let FailedElsewhere { error, unjudged, .. } = FailedElsewhere::clone(elsewhere);
            self.attempt = self.attempt.saturating_add(1);
            return match unjudged {
                Some(why) => {
                    let failure = self.failure(error, circumstances, now);
                    self.rule(&failure, Verdict::new(Action::DeadLetter { label: None }, why), None, None, now, effects)
                }
                None => self.failed(error, circumstances, now, effects),
            };
        }
        if let Some(early) = self.past.due.map(|due| due.since(now)).filter(|early| !early.is_zero()) {
            return self.wait_for_due(early, circumstances, now, effects);
        }
        self.attempt(circumstances, now, effects)
    }

    fn attempt(&mut self, circumstances: Circumstances, now: Timestamp, effects: &mut Vec<Effect>) -> State {
        // Before the first attempt its expiration is the broker's matter.
        let expired = self.past.expires_at.filter(|at| *at <= now && self.attempt > 0);
        match (expired, &self.arrival.work) {
            (Some(at), _) => self.judge(HandlerError::expired(at), circumstances, now, effects),
            (None, Work::Judge(elsewhere)) => {
                let error = elsewhere.error.clone();
                self.judge(error, circumstances, now, effects)
            }
            (None, Work::Handle) if self.is_interrupted() => {
                self.judge(HandlerError::interrupted(self.arrival.known.interruptions), circumstances, now, effects)
            }
            (None, Work::Handle) => {
                self.attempt = self.attempt.saturating_add(1);
                effects.push(Effect::Run { attempt: self.attempt });
                State::Running
            }
        }
    }

    /// So many attempts never came to an end that there is none any more: one that ends the host is not told from one that
    /// is only slow.
    fn is_interrupted(&self) -> bool {
        self.arrival.known.interruptions >= self.rules.max_interruptions.max(1)
    }

    fn succeeded(&mut self, effects: &mut Vec<Effect>) -> State {
        effects.push(report(EventKind::Consumed { subject: self.subject(), error: None }));
        self.acknowledge(Ending::Succeeded, None, effects)
    }

    fn failed(
        &mut self,
        error: HandlerError,
        circumstances: Circumstances,
        now: Timestamp,
        effects: &mut Vec<Effect>,
    ) -> State {
        effects.push(report(EventKind::Consumed { subject: self.subject(), error: Some(error.clone()) }));
        if self.lost {
            return self.give_up(effects);
        }
        self.judge(error, circumstances, now, effects)
    }

    fn judge(
        &mut self,
        error: HandlerError,
        circumstances: Circumstances,
        now: Timestamp,
        effects: &mut Vec<Effect>,
    ) -> State {
        self.past.first_failed_at.get_or_insert(now);
        let failure = Arc::new(self.failure(error, circumstances, now));
        effects.push(Effect::Judge(Arc::clone(&failure)));
        State::Judging(failure)
    }

    fn judged(&mut self, failure: &Failure, decision: Decision, now: Timestamp, effects: &mut Vec<Effect>) -> State {
        let maker = decision.maker;
        match decision.result {
            Ok(verdict) => self.rule(failure, verdict, maker.as_deref().cloned(), None, now, effects),
            Err(fault) => {
                let maker = maker.as_deref().cloned();
                let (subject, fault_too) = (self.subject(), fault.clone());
                effects.push(report(EventKind::PolicyFailed { subject, maker, fault: fault_too }));
                let verdict = fallback::judge(failure, &self.rules);
                // The policy has said nothing: the verdict does not go by its name.
                self.rule(failure, verdict, None, Some(fault), now, effects)
            }
        }
    }

    /// Carries a verdict out.
    fn rule(
        &mut self,
        failure: &Failure,
        verdict: Verdict,
        maker: Option<Maker>,
        fault: Option<Fault>,
        now: Timestamp,
        effects: &mut Vec<Effect>,
    ) -> State {
        if let Some(pause_ms) = verdict.pause_intake {
            let until = now.after(Duration::from_millis(pause_ms).min(LONGEST_PAUSE));
            let why = verdict.reason.clone();
            effects.push(Effect::PauseIntake(Pause { outage: false, until, why }));
        }
        let (outcome, overridden): Resolved = resolve(&verdict.action, self.situation(now), &self.rules);
        let ruling = Ruling { error_kind: failure.error.kind.clone(), maker, verdict, fault, overridden };
        let to = match outcome {
            Outcome::Again { wait } => return self.retry(wait, ruling, now, effects),
            Outcome::Requeue { cooldown } => {
                let dead_letter = self.rules.dead_letters.get(DEFAULT_LABEL).map(|topic| {
                    let (error, ruling) = (failure.error.clone(), Some(ruling.clone()));
                    let (id, to) =
                        (self.copy_id(failure.seed, now), Destination::DeadLetter(Target::Topic(topic.clone())));
                    Publishing::new(Copied { id, error, failed_at: failure.now, ruling, to })
                });
                return self.cool_down(cooldown, ruling, dead_letter, effects);
            }
            Outcome::Drop => {
                let report = Box::new(EventKind::Dropped { subject: self.subject(), ruling });
                return self.acknowledge(Ending::Dropped, Some(report), effects);
            }
            Outcome::Delay { tier, due } => {
                Destination::Tier { target: self.back_through(&tier), tier: tier.name, due }
            }
            Outcome::DeadLetter { topic } => Destination::DeadLetter(Target::Topic(topic)),
        };
        let id = self.copy_id(failure.seed, now);
        let copy = Copied { id, error: failure.error.clone(), failed_at: failure.now, ruling: Some(ruling), to };
        self.publish(Publishing::new(copy), effects)
    }

    fn retry(&mut self, wait: Duration, ruling: Ruling, now: Timestamp, effects: &mut Vec<Effect>) -> State {
        if self.stopping {
            return self.release("shutdown", effects);
        }
        let due = now.after(wait);
        effects.push(report(EventKind::RetryScheduled { subject: self.subject(), ruling, due }));
        effects.push(Effect::Wait(wait));
        State::Waiting(Next::Attempt)
    }

    fn proceed(
        &mut self,
        next: Next,
        circumstances: Circumstances,
        now: Timestamp,
        effects: &mut Vec<Effect>,
    ) -> State {
        match next {
            Next::Attempt => self.attempt(circumstances, now, effects),
            Next::Publish(publishing) => self.publish(publishing, effects),
            Next::Settle(settling) => self.settle(settling, effects),
        }
    }

    fn failure(&self, error: HandlerError, circumstances: Circumstances, now: Timestamp) -> Failure {
        let message = &self.arrival.message;
        // A timestamp can lie in the future, by a wrong clock or a wrong unit; such a message would never age.
        let born = message.timestamp.into_iter().chain(self.past.first_failed_at).min();
        Failure {
            message: Arc::clone(message),
            body_size: message.body_size() as u64,
            attempt: self.attempt,
            interruptions: self.arrival.known.interruptions,
            redelivered: self.arrival.redelivered,
            tier: self.past.tier.clone(),
            age_ms: born.map_or(0, |born| millis(now.since(born))),
            expires_in_ms: self.past.expires_at.map(|at| millis(at.since(now))),
            error,
            health: circumstances.health,
            now,
            seed: circumstances.seed,
            attributes: attributes(&self.arrival, &self.past, &self.rules),
        }
    }

    fn situation(&self, now: Timestamp) -> Situation {
        let has_handler = matches!(self.arrival.work, Work::Handle);
        let can_return =
            has_handler || matches!(&self.arrival.work, Work::Judge(elsewhere) if elsewhere.back_to.is_some());
        let requeues = self.arrival.known.requeues;
        let held = now.since(self.arrival.at);
        let interrupted = has_handler && self.is_interrupted();
        Situation { now, expires_at: self.past.expires_at, requeues, held, has_handler, can_return, interrupted }
    }

    fn origin_topic(&self) -> &str {
        match &self.arrival.work {
            Work::Judge(elsewhere) => elsewhere.back_to.as_deref().unwrap_or(&self.rules.source),
            Work::Handle => &self.rules.source,
        }
    }

    fn subject(&self) -> Subject {
        Subject { id: self.arrival.message.id.clone(), source: Arc::clone(&self.rules.source), attempt: self.attempt }
    }
}

fn report(kind: EventKind) -> Effect {
    Effect::Report(Box::new(kind))
}

fn end(ending: Ending, effects: &mut Vec<Effect>) -> State {
    effects.push(Effect::End(ending));
    State::Ended
}
