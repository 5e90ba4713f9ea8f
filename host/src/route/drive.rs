//! Carries out what one delivery's machine asks for, and feeds back what came of it.

use std::hash::{BuildHasher, RandomState};
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{debug, error};

use super::intake::Epoch;
use super::memory::{CopyKey, Remembered};
use super::{Route, RouteWork};
use crate::broker::{Delivery, Origin, Settlement, Settler};
use crate::delivery::{Arrival, Circumstances, Effect, Ending, Input, KnownStarts, Machine, Work};
use crate::event::{EventKind, SkipReason, Subject};
use crate::handler::{Call, judge, panic};
use crate::handler_error::HandlerError;
use crate::message::Message;

/// What is under way for the machine; it resolves to the machine's next input.
type Operation = Pin<Box<dyn Future<Output = Input> + Send>>;

impl Route {
    /// Takes a delivery from its slot to its end.
    pub(super) async fn drive(self: Arc<Self>, delivery: Delivery, epoch: Arc<Epoch>, slot: OwnedSemaphorePermit) {
        self.metrics.in_flight.inc();
        let id = delivery.message.id.clone();
        let settler: Arc<dyn Settler> = Arc::from(delivery.settler);
        let delivery = InWork {
            message: delivery.message,
            origin: delivery.origin,
            redelivered: delivery.redelivered,
            lost: delivery.lost,
            settler: Arc::clone(&settler),
        };
        // A judge or broker of an embedder may panic. The message is the broker's again; its slot must not be lost.
        if AssertUnwindSafe(self.take_on(delivery, &epoch)).catch_unwind().await.is_err() {
            error!(route = %self.spec.name, id, "a panic while a delivery was in work: it goes back to the broker");
            if let Err(error) = settler.settle(Settlement::Release).await {
                error!(route = %self.spec.name, id, %error, "it could not be handed back");
            }
        }
        self.metrics.in_flight.dec();
        drop(slot);
    }

    async fn take_on(self: &Arc<Self>, delivery: InWork, epoch: &Epoch) {
        let may_be_known = delivery.redelivered && !self.memory.is_empty();
        let key = may_be_known.then(|| CopyKey::of(&delivery.message)).flatten();
        match key.and_then(|key| self.memory.take(key)) {
            Some(Remembered::Done) => self.acknowledge_unrun(&delivery, epoch).await,
            Some(Remembered::Open(known)) => self.run_machine(delivery, epoch, known).await,
            None => self.run_machine(delivery, epoch, KnownStarts::default()).await,
        }
    }

    fn remember(&self, message: &Message, what: Remembered) {
        if let Some(key) = CopyKey::of(message) {
            self.memory.remember(key, what);
        }
    }

    /// The outcome of this copy is durable already; only its ack was lost (rule 13).
    async fn acknowledge_unrun(&self, delivery: &InWork, epoch: &Epoch) {
        if delivery.settler.settle(Settlement::Ack).await.is_err() {
            self.remember(&delivery.message, Remembered::Done);
            return;
        }
        epoch.note_ack(&delivery.message, &self.memory);
        let id = delivery.message.id.clone();
        let subject = Subject { id, source: Arc::clone(&self.spec.source), attempt: 0 };
        self.observer.emit(&self.spec.name, EventKind::Skipped { subject, why: SkipReason::AckLost });
    }

    async fn run_machine(self: &Arc<Self>, delivery: InWork, epoch: &Epoch, known: KnownStarts) {
        let InWork { message, origin, redelivered, lost, settler } = delivery;
        let work = match &self.spec.work {
            RouteWork::Handle { .. } => Work::Handle,
            RouteWork::Judge(settings) => {
                let judge::Reading { error, back_to, unjudged, .. } = judge::read(&message, settings);
                Work::Judge { error, back_to, unjudged }
            }
        };
        let arrival = Arrival { message: Arc::clone(&message), origin, redelivered, known, work, at: self.now() };
        let start = Input::Start(self.circumstances(match &arrival.work {
            Work::Judge { error, .. } => Some(error),
            Work::Handle => None,
        }));
        let mut life = Life {
            route: self,
            epoch,
            machine: Machine::new(Arc::clone(&epoch.rules), arrival),
            message,
            redelivered,
            settler,
            operation: None,
            goes_back: false,
            held: false,
            ending: None,
        };
        life.take(start);
        let (mut is_lost, mut drains, mut aborts) = (false, false, false);
        while life.ending.is_none() {
            let input = tokio::select! {
                biased;
                input = life.operation() => input,
                () = lost.cancelled(), if !is_lost => { is_lost = true; Input::Lost }
                () = self.shutdown.abort.cancelled(), if !aborts => { aborts = true; Input::Abort }
                () = self.shutdown.drain.cancelled(), if !drains => { drains = true; Input::Shutdown }
            };
            life.take(input);
        }
        life.end();
    }

    fn circumstances(&self, error: Option<&HandlerError>) -> Circumstances {
        let health = error.map(|error| self.health.record_failure(&error.kind, self.now())).unwrap_or_default();
        // Each hasher state has keys of its own, which is all the randomness that jitter needs.
        Circumstances { health, seed: RandomState::new().hash_one(0) }
    }

    async fn attempt(self: Arc<Self>, call: Call) -> Input {
        let RouteWork::Handle { handler, timeout: limit } = &self.spec.work else {
            unreachable!("a machine that judges runs no handler")
        };
        let begin = Instant::now();
        let result = timeout(*limit, panic::caught(handler.handle(&call)))
            .await
            .unwrap_or_else(|_| Ok(Err(HandlerError::timeout(*limit))));
        let result = result.and_then(std::convert::identity);
        self.metrics.observe_handler(begin.elapsed());
        let circumstances = match &result {
            Ok(()) => {
                self.health.record_success(self.now());
                Circumstances::default()
            }
            Err(error) => self.circumstances(Some(error)),
        };
        Input::Handled(result, circumstances)
    }
}

/// A delivery whose settler outlives a panic.
struct InWork {
    message: Arc<Message>,
    origin: Origin,
    redelivered: bool,
    lost: CancellationToken,
    settler: Arc<dyn Settler>,
}

/// One delivery in work.
struct Life<'r> {
    route: &'r Arc<Route>,
    epoch: &'r Epoch,
    machine: Machine,
    message: Arc<Message>,
    redelivered: bool,
    settler: Arc<dyn Settler>,
    operation: Option<Operation>,
    /// The broker was told to take it back.
    goes_back: bool,
    /// Counted among those that are held because publishing fails.
    held: bool,
    ending: Option<Ending>,
}

impl Life<'_> {
    /// What is under way; for ever where nothing is.
    async fn operation(&mut self) -> Input {
        match &mut self.operation {
            Some(operation) => {
                let input = operation.await;
                self.operation = None;
                input
            }
            None => std::future::pending().await,
        }
    }

    fn take(&mut self, input: Input) {
        let is_loss = input == Input::Lost;
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
    }

    fn carry_out(&mut self, effect: Effect) {
        let route = Arc::clone(self.route);
        match effect {
            Effect::Run { attempt } => {
                let call = self.machine.call(attempt);
                self.operation = Some(Box::pin(route.attempt(call)));
            }
            Effect::Judge(failure) => {
                self.operation = Some(Box::pin(async move {
                    let begin = Instant::now();
                    let decision = route.judge.decide(&failure).await;
                    route.metrics.observe_decision(begin.elapsed());
                    Input::Judged(decision)
                }));
            }
            Effect::Wait(wait) => self.operation = Some(self.wait(wait)),
            Effect::Publish(publication) => {
                self.operation = Some(Box::pin(async move {
                    let broker = &route.spec.broker;
                    Input::Published(broker.publish(&publication.target, &publication.message).await)
                }));
            }
            Effect::Settle(settlement) => {
                // It can be back before the settle has returned.
                if settlement != Settlement::Ack {
                    self.remember_open();
                    self.goes_back = true;
                }
                let settler = Arc::clone(&self.settler);
                self.operation = Some(async move { Input::Settled(settler.settle(settlement).await) }.boxed());
            }
            Effect::Stop => self.operation = None,
            Effect::PauseIntake(pause) => route.pauses.pause(pause, route.now()),
            Effect::ResumeIntake => route.pauses.end_outage(),
            Effect::Report(event) => self.report(*event),
            Effect::End(ending) => self.ending = Some(ending),
        }
    }

    fn remember_open(&self) {
        if let Some(key) = CopyKey::of(&self.message) {
            self.route.memory.remember_open(key, self.machine.known_starts(), self.redelivered);
        }
    }

    fn wait(&self, wait: Duration) -> Operation {
        let route = Arc::clone(self.route);
        Box::pin(async move {
            sleep(wait).await;
            Input::Due(route.circumstances(None))
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
        self.route.observer.emit(&self.route.spec.name, event);
    }

    /// Keeps what is remembered of this copy in step with how it ended.
    fn end(self) {
        match self.ending {
            Some(Ending::Lost { durable: true }) => {
                debug!(route = %self.route.spec.name, id = self.message.id, "the ack was lost after the outcome was durable");
                self.route.remember(&self.message, Remembered::Done);
            }
            Some(Ending::Lost { durable: false } | Ending::Requeued | Ending::Released) | None => {}
            Some(_) => {
                // Another hand-over of this copy may have left a memory behind, which must not stand for a later message.
                if self.redelivered && !self.route.memory.is_empty() {
                    let key = CopyKey::of(&self.message);
                    key.and_then(|key| self.route.memory.take(key));
                }
                self.epoch.note_ack(&self.message, &self.route.memory);
            }
        }
    }
}

impl Drop for Life<'_> {
    fn drop(&mut self) {
        if self.held {
            self.route.metrics.held.dec();
        }
    }
}
