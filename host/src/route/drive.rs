//! Carries out what one delivery's machine asks for, and feeds back what came of it.

use std::hash::{BuildHasher, RandomState};
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, sleep, timeout};
use tracing::{debug, error};

use super::intake::Epoch;
use super::memory::{CopyKey, Remembered};
use super::suspects::{Part, Turn};
use super::{Route, RouteWork, park};
use crate::broker::{Delivery, Earlier, SettleError, Settlement, Settler};
use crate::delivery::{
    Arrival, Circumstances, Effect, Ending, FailedElsewhere, Input, KnownStarts, Machine, Parcel, Work, attempts,
};
use crate::event::{EventKind, SkipReason, Subject};
use crate::handler::{Call, judge, panic};
use crate::handler_error::HandlerError;
use crate::journal::{Journal, Outcome, Ticket};
use crate::message::Message;
use crate::telemetry::{DeliverySpans, Place};

/// What is under way for the machine; it resolves to the machine's next input, and the turn that an attempt which follows
/// may need.
type Operation = Pin<Box<dyn Future<Output = (Input, Option<Box<Turn>>)> + Send>>;

impl Route {
    /// Takes a delivery from its slot to its end.
    #[expect(
        clippy::manual_async_fn,
        reason = "an async function keeps its arguments twice, and tens of thousands sleep here"
    )]
    pub(super) fn drive(
        self: Arc<Self>,
        mut delivery: Delivery,
        epoch: Arc<Epoch>,
        slot: OwnedSemaphorePermit,
    ) -> impl Future<Output = ()> + Send {
        async move {
            self.metrics.in_flight.inc();
            // A judge or broker of an embedder may panic. The message is the broker's again; its slot must not be lost.
            if AssertUnwindSafe(self.take_on(&mut delivery, &epoch)).catch_unwind().await.is_err() {
                Box::pin(self.hand_back_after_panic(&delivery, &epoch)).await;
            }
            self.metrics.in_flight.dec();
            drop(slot);
        }
    }

    /// What panics once will do so again as soon as the message is back, and must not spin, nor be handed back where the source
    /// could lose it by that (rule 5).
    async fn hand_back_after_panic(&self, delivery: &Delivery, epoch: &Epoch) {
        let (route, id) = (&self.spec.name, &delivery.message.id);
        error!(%route, id, "a panic while a delivery was in work: it goes back to the broker");
        tokio::select! {
            () = sleep(self.spec.requeue.max), if epoch.rules.requeue_is_safe => {}
            () = delivery.lost.cancelled() => {}
            () = self.intake_ended.cancelled() => {}
        }
        if let Err(error) = delivery.settler.settle(Settlement::Release).await {
            error!(%route, id, %error, "it could not be handed back");
        }
    }

    async fn take_on(self: &Arc<Self>, delivery: &mut Delivery, epoch: &Epoch) {
        let may_be_known = delivery.redelivered && !self.memory.is_empty();
        let key = may_be_known.then(|| CopyKey::of(&delivery.message)).flatten();
        let suspicion = self.suspicion.as_ref();
        let part = suspicion
            .and_then(|suspicion| suspicion.arrives(&delivery.message, delivery.redelivered, delivery.earlier))
            .map(Arc::new);
        let remembered = key.and_then(|key| self.memory.take(key));
        // The outcome of this copy is durable already; only its ack was lost (rule 13).
        if remembered == Some(Remembered::Done) || delivery.earlier == Earlier::Done {
            return self.acknowledge_unrun(delivery, epoch, SkipReason::AckLost).await;
        }
        let known = match remembered {
            Some(Remembered::Open(known)) => Some(known),
            Some(Remembered::Done) | None => part.as_deref().and_then(Part::known),
        };
        if self.spec.deduplicate.is_some() && Box::pin(self.is_duplicate(&delivery.message, &delivery.origin)).await {
            if let Some(part) = &part {
                part.is_cleared();
            }
            return self.acknowledge_unrun(delivery, epoch, SkipReason::Duplicate).await;
        }
        let mut life = self.life(delivery, epoch, known.unwrap_or_default(), part);
        life.run().await;
        life.end();
    }

    fn remember(&self, message: &Message, what: Remembered) {
        if let Some(key) = CopyKey::of(message) {
            self.memory.remember(key, what);
        }
    }

    /// Settles a message that was dealt with before.
    async fn acknowledge_unrun(&self, delivery: &Delivery, epoch: &Epoch, why: SkipReason) {
        if delivery.settler.settle(Settlement::Ack).await.is_err() {
            self.remember(&delivery.message, Remembered::Done);
            return;
        }
        epoch.note_ack(&delivery.message, &self.memory);
        let id = delivery.message.id.clone();
        let attempt = attempts(&delivery.message, &epoch.rules);
        let subject = Subject { id, source: Arc::clone(&self.spec.source), attempt };
        self.observer.emit(&self.spec.name, EventKind::Skipped { subject, why });
    }

    /// A machine for the delivery, which has its first input.
    fn life<'r>(
        self: &'r Arc<Self>,
        delivery: &'r mut Delivery,
        epoch: &'r Epoch,
        known: KnownStarts,
        part: Option<Arc<Part>>,
    ) -> Life<'r> {
        let spans = self.observer.traces().map(|traces| {
            let (route, source) = (Arc::clone(&self.spec.name), Arc::clone(&self.spec.source));
            let place = Place { route, source, system: self.spec.broker.capabilities().kind };
            Box::new(DeliverySpans::new(traces.clone(), place, Arc::clone(&delivery.message), &delivery.origin))
        });
        let arrival = self.arrival(delivery, known);
        let start = Input::Start(self.circumstances(match &arrival.work {
            Work::Judge(elsewhere) => Some(&elsewhere.error),
            Work::Handle => None,
        }));
        let mut life = Life {
            route: self,
            epoch,
            delivery,
            machine: Machine::new(Arc::clone(&epoch.rules), arrival),
            operation: UnderWay(None),
            goes_back: false,
            part,
            turn: None,
            held: false,
            in_outage: false,
            ticket: None,
            spans,
            ending: None,
        };
        life.start(start);
        life
    }

    fn arrival(&self, delivery: &mut Delivery, known: KnownStarts) -> Arrival {
        let message = Arc::clone(&delivery.message);
        let work = match &self.spec.work {
            RouteWork::Handle { .. } => Work::Handle,
            RouteWork::Judge(settings) => {
                let judge::Reading { error, back_to, unjudged, .. } = judge::read(&message, settings);
                Work::Judge(Box::new(FailedElsewhere { error, back_to, unjudged }))
            }
        };
        let origin = std::mem::take(&mut delivery.origin);
        Arrival { message, origin, redelivered: delivery.redelivered, known, work, at: self.now() }
    }

    fn circumstances(&self, error: Option<&HandlerError>) -> Circumstances {
        let health = error.map(|error| self.health.record_failure(&error.kind, self.now())).unwrap_or_default();
        // Each hasher state has keys of its own, which is all the randomness that jitter needs.
        Circumstances { health, seed: RandomState::new().hash_one(0) }
    }

    async fn attempt(
        self: Arc<Self>,
        call: Call,
        known: KnownStarts,
        turn: Option<Box<Turn>>,
        settler: Arc<dyn Settler>,
    ) -> Input {
        let RouteWork::Handle { handler, timeout: limit } = &self.spec.work else {
            unreachable!("a machine that judges runs no handler")
        };
        // First, so that a note says of the broker's own memory that it runs.
        let _running = Running::begin(Arc::clone(&settler));
        let _note = match &turn {
            Some(turn) => turn.note(known, &*settler).await,
            None => None,
        };
        let begin = Instant::now();
        let attempt = timeout(*limit, panic::caught(handler.handle(&call)));
        let result = match turn {
            Some(turn) => turn.hold(attempt).await,
            None => attempt.await,
        };
        let result = result.unwrap_or_else(|_| Ok(Err(HandlerError::timeout(*limit))));
        let result = result.and_then(std::convert::identity);
        self.metrics.observe_handler(begin.elapsed());
        let circumstances = match &result {
            Ok(()) => {
                self.health.record_success(self.now());
                // Before the ack: a crash in between gives a duplicate that is known for one.
                self.record_success(&call.message, &call.origin).await;
                Circumstances::default()
            }
            Err(error) => self.circumstances(Some(error)),
        };
        Input::Handled(result, circumstances)
    }
}

impl Route {
    async fn park(&self, parcel: Box<Parcel>) -> Result<String, String> {
        let Some(folder) = self.spec.park.clone() else { return Err("there is no park folder".to_owned()) };
        let (name, source) = (Arc::clone(&self.spec.name), Arc::clone(&self.spec.source));
        let parked = tokio::task::spawn_blocking(move || park::park(&folder, &name, &source, &parcel)).await;
        parked.unwrap_or_else(|error| Err(error.to_string()))
    }
}

/// An attempt that runs, as the broker is told of it.
struct Running(Arc<dyn Settler>);

impl Running {
    fn begin(settler: Arc<dyn Settler>) -> Self {
        settler.attempt_begins();
        Self(settler)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.attempt_ends();
    }
}

/// What is under way for a delivery, if anything is.
struct UnderWay(Option<Operation>);

impl UnderWay {
    /// What comes of it; for ever where nothing is under way.
    async fn next(&mut self) -> (Input, Option<Box<Turn>>) {
        match &mut self.0 {
            Some(operation) => {
                let outcome = operation.await;
                self.0 = None;
                outcome
            }
            None => std::future::pending().await,
        }
    }
}

/// One delivery in work.
struct Life<'r> {
    route: &'r Arc<Route>,
    epoch: &'r Epoch,
    delivery: &'r Delivery,
    machine: Machine,
    operation: UnderWay,
    /// The broker was told to take it back.
    goes_back: bool,
    /// `None` where nothing is suspected to have ended the host before.
    part: Option<Arc<Part>>,
    /// Leave to run the attempt that begins now. Boxed, since all that sleep would keep the room for it.
    turn: Option<Box<Turn>>,
    /// Counted among those that are held because publishing fails.
    held: bool,
    /// Counted among those whose tries tell when an outage is over.
    in_outage: bool,
    /// Names the failure that was judged last in the journal, where there is one.
    ticket: Option<Ticket>,
    /// `None` where nothing is traced.
    spans: Option<Box<DeliverySpans>>,
    ending: Option<Ending>,
}

impl Life<'_> {
    /// Feeds the machine until it has ended.
    async fn run(&mut self) {
        let (mut is_lost, mut drains, mut aborts) = (false, false, false);
        while self.ending.is_none() {
            let input = tokio::select! {
                biased;
                (input, turn) = self.operation.next() => {
                    // The loss may have come first, and what fails after it is not judged (rule 3).
                    if matches!(input, Input::Handled(..)) && !is_lost && self.delivery.lost.is_cancelled() {
                        is_lost = true;
                        self.take(Input::Lost);
                    }
                    self.turn = turn;
                    input
                }
                () = self.delivery.lost.cancelled(), if !is_lost => { is_lost = true; Input::Lost }
                () = self.route.shutdown.abort.cancelled(), if !aborts => { aborts = true; Input::Abort }
                () = self.route.intake_ended.cancelled(), if !drains => { drains = true; Input::Shutdown }
            };
            self.take(input);
        }
    }

    /// Begins at once, or when it is this delivery's turn.
    fn start(&mut self, start: Input) {
        match self.part.clone() {
            None => self.take(start),
            Some(part) if let Some(turn) = part.turn_now() => {
                self.turn = Some(Box::new(turn));
                self.take(start);
            }
            Some(part) => {
                self.operation = UnderWay(Some(Box::pin(async move { (start, Some(Box::new(part.turn().await))) })));
            }
        }
    }

    fn take(&mut self, input: Input) {
        let is_loss = input == Input::Lost;
        if let Some(spans) = &mut self.spans {
            spans.hears(&input);
        }
        let mut effects = Vec::with_capacity(4);
        self.machine.handle(input, self.route.now(), &mut effects);
        // The broker may hand it over again while its handler still runs. What is on its way back was remembered when its settle
        // was sent, and may have been here again since.
        if is_loss && !self.goes_back {
            self.remember_open();
        }
        for effect in effects {
            self.carry_out(effect);
        }
        // Without an attempt others need not wait.
        self.turn = None;
    }

    fn carry_out(&mut self, mut effect: Effect) {
        let route = Arc::clone(self.route);
        let own_traceparent = self.spans.as_mut().and_then(|spans| spans.sees(&mut effect));
        match effect {
            Effect::Run { attempt } => {
                let call = Call { own_traceparent, ..self.machine.call(attempt) };
                let (known, turn) = (self.machine.known_starts(), self.turn.take());
                let settler = Arc::clone(&self.delivery.settler);
                self.begin(route.attempt(call, known, turn, settler));
            }
            Effect::Judge(failure) => {
                let ticket = route.observer.journal().map(Journal::ticket);
                self.ticket = ticket;
                self.begin(async move {
                    let begin = Instant::now();
                    let decision = route.judge.decide_recorded(&failure, ticket).await;
                    route.metrics.observe_decision(begin.elapsed());
                    if let (Some(journal), Some(ticket)) = (route.observer.journal(), ticket) {
                        journal.failed(ticket, &route.spec.name, &failure, &decision);
                    }
                    Input::Judged(decision)
                });
            }
            Effect::Wait(wait) => self.operation = UnderWay(Some(self.wait(wait))),
            Effect::Publish(publication) => self.begin(async move {
                let broker = &route.spec.broker;
                Input::Published(broker.publish(&publication.target, &publication.message).await)
            }),
            Effect::Park(parcel) => self.begin(async move { Input::Parked(route.park(parcel).await) }),
            Effect::Settle(settlement) => {
                // It can be back before the settle has returned.
                if settlement != Settlement::Ack {
                    self.remember_open();
                    self.goes_back = true;
                }
                let settler = Arc::clone(&self.delivery.settler);
                self.begin(async move {
                    let settled = settler.settle(settlement).await;
                    if matches!(settled, Err(SettleError::Retry(_))) {
                        route.metrics.settle_retries.inc();
                    }
                    Input::Settled(settled)
                });
            }
            Effect::Stop => self.operation = UnderWay(None),
            Effect::PauseIntake(pause) => {
                if pause.outage && !std::mem::replace(&mut self.in_outage, true) {
                    route.pauses.hold();
                }
                route.pauses.pause(pause, route.now());
            }
            Effect::ResumeIntake => route.pauses.end_outage(),
            Effect::Report(event) => self.report(*event),
            Effect::End(ending) => self.ending = Some(ending),
        }
    }

    fn remember_open(&self) {
        if let Some(key) = CopyKey::of(&self.delivery.message) {
            self.route.memory.remember_open(key, self.machine.known_starts(), self.delivery.redelivered);
        }
    }

    fn begin(&mut self, operation: impl Future<Output = Input> + Send + 'static) {
        self.operation = UnderWay(Some(Box::pin(operation.map(|input| (input, None)))));
    }

    fn wait(&self, wait: Duration) -> Operation {
        let route = Arc::clone(self.route);
        let part = self.part.clone().filter(|_| self.machine.awaits_attempt());
        Box::pin(async move {
            sleep(wait).await;
            let turn = match part {
                // Boxed: few deliveries ever wait for their turn, and all that sleep would keep the room for it.
                Some(part) => Some(Box::new(Box::pin(part.turn()).await)),
                None => None,
            };
            (Input::Due(route.circumstances(None)), turn)
        })
    }

    fn report(&mut self, event: EventKind) {
        match &event {
            EventKind::RetryScheduled { .. } | EventKind::Delayed { .. } => {
                self.route.health.record_retry(self.route.now());
            }
            EventKind::PublishFailed { .. } if !self.held => {
                self.held = true;
                self.route.metrics.held.inc();
            }
            _ => {}
        }
        if let (Some(journal), Some(ticket)) = (self.route.observer.journal(), self.ticket)
            && let Some(outcome) = Outcome::of(&event, self.route.now())
        {
            journal.outcome(ticket, outcome);
        }
        self.route.observer.emit(&self.route.spec.name, event);
    }

    /// Keeps what is remembered of this copy in step with how it ended.
    fn end(self) {
        match self.ending {
            Some(Ending::Lost { durable: true }) => {
                debug!(route = %self.route.spec.name, id = self.delivery.message.id, "the ack was lost after the outcome was durable");
                if let Some(part) = &self.part {
                    part.is_cleared();
                }
                self.route.remember(&self.delivery.message, Remembered::Done);
            }
            Some(Ending::Lost { durable: false } | Ending::Requeued | Ending::Released) | None => {}
            Some(_) => {
                if let Some(part) = &self.part {
                    part.is_cleared();
                }
                // Another hand-over of this copy may have left a memory behind, which must not stand for a later message.
                if self.delivery.redelivered && !self.route.memory.is_empty() {
                    let key = CopyKey::of(&self.delivery.message);
                    key.and_then(|key| self.route.memory.take(key));
                }
                self.epoch.note_ack(&self.delivery.message, &self.route.memory);
            }
        }
    }
}

impl Drop for Life<'_> {
    fn drop(&mut self) {
        if self.held {
            self.route.metrics.held.dec();
        }
        if self.in_outage {
            self.route.pauses.let_go();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size_of_result<Output, A, B, C, D>(_: impl Fn(A, B, C, D) -> Output) -> usize {
        size_of::<Output>()
    }

    #[test]
    fn a_delivery_in_work_is_small() {
        let size = size_of_result(Route::drive);
        assert!(size <= 920, "{size} bytes, of which tens of thousands may sleep");
    }
}
