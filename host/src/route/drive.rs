//! Carries out what one delivery's machine asks for, and feeds back what came of it.

use std::hash::{BuildHasher, RandomState};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, sleep, timeout};
use tracing::{debug, info};

use super::memory::{CopyKey, Remembered};
use super::{Route, RouteWork};
use crate::broker::{Delivery, Settlement, Settler};
use crate::delivery::{Arrival, Circumstances, Effect, Ending, Input, KnownStarts, Machine, Rules, Work};
use crate::event::EventKind;
use crate::handler::{Call, judge};
use crate::handler_error::HandlerError;

/// What is under way for the machine; it resolves to the machine's next input.
type Operation = Pin<Box<dyn Future<Output = Input> + Send>>;

impl Route {
    /// Takes a delivery from its slot to its end.
    pub(super) async fn drive(self: Arc<Self>, delivery: Delivery, rules: Arc<Rules>, slot: OwnedSemaphorePermit) {
        self.metrics.in_flight.inc();
        let key = (delivery.redelivered && !self.memory.is_empty()).then(|| self.copy_key(&delivery));
        match key.and_then(|key| self.memory.take(key)) {
            Some(Remembered::Done) => self.acknowledge_unrun(&delivery).await,
            Some(Remembered::Open(known)) => self.run_machine(delivery, rules, known).await,
            None => self.run_machine(delivery, rules, KnownStarts::default()).await,
        }
        self.metrics.in_flight.dec();
        drop(slot);
    }

    fn copy_key(&self, delivery: &Delivery) -> CopyKey {
        CopyKey::of(&delivery.message, &self.names.attempts)
    }

    /// The outcome of this copy is durable already; only its ack was lost (rule 13).
    async fn acknowledge_unrun(&self, delivery: &Delivery) {
        info!(route = %self.spec.name, id = delivery.message.id, "acknowledged unrun: its outcome was durable before the connection was lost");
        if delivery.settler.settle(Settlement::Ack).await.is_err() {
            self.memory.remember(self.copy_key(delivery), Remembered::Done);
        }
    }

    async fn run_machine(self: &Arc<Self>, delivery: Delivery, rules: Arc<Rules>, known: KnownStarts) {
        let settler: Arc<dyn Settler> = Arc::from(delivery.settler);
        let (message, origin, redelivered) = (delivery.message, delivery.origin, delivery.redelivered);
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
            machine: Machine::new(rules, arrival),
            settler,
            operation: None,
            held: false,
            ending: None,
        };
        life.take(start);
        let (mut is_lost, mut drains, mut aborts) = (false, false, false);
        while life.ending.is_none() {
            let input = tokio::select! {
                biased;
                input = life.operation() => input,
                () = delivery.lost.cancelled(), if !is_lost => { is_lost = true; Input::Lost }
                () = self.shutdown.abort.cancelled(), if !aborts => { aborts = true; Input::Abort }
                () = self.shutdown.drain.cancelled(), if !drains => { drains = true; Input::Shutdown }
            };
            life.take(input);
        }
        life.end(&message);
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
        let result =
            timeout(*limit, handler.handle(&call)).await.unwrap_or_else(|_| Err(HandlerError::timeout(*limit)));
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

/// One delivery in work.
struct Life<'r> {
    route: &'r Arc<Route>,
    machine: Machine,
    settler: Arc<dyn Settler>,
    operation: Option<Operation>,
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
        let mut effects = Vec::with_capacity(4);
        self.machine.handle(input, self.route.now(), &mut effects);
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

    /// Remembers what the broker cannot, in case it hands this copy over again.
    fn end(self, message: &crate::message::Message) {
        if self.held {
            self.route.metrics.held.dec();
        }
        let remembered = match self.ending {
            Some(Ending::Lost { durable: true }) => Remembered::Done,
            Some(Ending::Lost { durable: false } | Ending::Requeued | Ending::Released) => {
                Remembered::Open(self.machine.known_starts())
            }
            _ => return,
        };
        debug!(route = %self.route.spec.name, id = message.id, ?remembered, "the broker has the delivery");
        self.route.memory.remember(CopyKey::of(message, &self.route.names.attempts), remembered);
    }
}
