//! Takes messages of a route's topics and keeps their leases.
//!
//! `poller`: asks one topic for messages. `forwarder`: sends those on that have to go elsewhere.

mod forwarder;
mod poller;

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::join_all;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

pub(super) use self::forwarder::Forwarder;
use self::poller::Poller;
use super::acks::{Mode, settle_many};
use super::leases::{Lease, Leases};
use super::nodes::Nodes;
use super::seen::Seen;
use super::settings::Envelope;
use super::settler::{Errand, NaradSettler, run_errands};
use crate::broker::{BrokerError, Consumer, Delivery, Earlier, Origin, Settlement, Settler as _};
use crate::message::Message;
use crate::timestamp::Timestamp;

/// What is given back at an end is not waited for longer.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// A topic to consume.
pub(super) struct Source {
    pub(super) topic: Arc<str>,
    pub(super) form: Envelope,
    /// How long its leases last.
    pub(super) visibility: Duration,
    /// How many messages are asked for at once, at most.
    pub(super) batch: usize,
}

/// A message that came and has been given room.
struct Arrived {
    message: Message,
    /// When Narad stored this copy.
    stored: Timestamp,
    number: u64,
    lease: Arc<Lease>,
}

/// What the parts of one consumer share.
struct Shared {
    nodes: Arc<Nodes>,
    leases: Arc<Leases>,
    errands: mpsc::UnboundedSender<Errand>,
    /// Room for deliveries that are not settled.
    room: Arc<Semaphore>,
    /// Cancelled when nothing more is to be taken.
    polling: CancellationToken,
    /// Why nothing more can be taken.
    problem: Mutex<Option<String>>,
}

impl Shared {
    fn settler(&self, number: u64, lease: &Arc<Lease>) -> NaradSettler {
        NaradSettler {
            number,
            lease: Arc::clone(lease),
            leases: Arc::clone(&self.leases),
            errands: self.errands.clone(),
            settled: AtomicBool::new(false),
        }
    }

    /// Gives a message back that nobody has seen. Where that fails, its lease runs out.
    async fn give_back(&self, number: u64, lease: &Arc<Lease>) {
        if let Err(error) = self.settler(number, lease).settle(Settlement::Release).await {
            tracing::debug!(%error, message = %lease.place, "a message goes back when its lease runs out");
            self.leases.release(number);
        }
    }

    /// Ends the consumer for this reason; the first one counts.
    fn fail(&self, why: String) {
        self.problem.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
        self.polling.cancel();
    }

    /// Takes every lease from whoever has it, and nothing more. What is returned should go back to the broker.
    fn abandon(&self) -> Vec<Arc<Lease>> {
        self.polling.cancel();
        let left = self.leases.drain();
        for lease in &left {
            lease.lost.cancel();
        }
        left
    }
}

/// A consumer of a source, and of the tiers that lead back to it.
pub(super) struct NaradConsumer {
    source: Arc<str>,
    shared: Arc<Shared>,
    pollers: JoinSet<()>,
    arrivals: mpsc::UnboundedReceiver<Arrived>,
    seen: Arc<Seen>,
    prefetch: usize,
    /// Cancelled when leases need no renewal any more.
    ended: CancellationToken,
}

impl NaradConsumer {
    /// Starts to consume `sources`, of which the first is the route's own.
    pub(super) fn start(
        nodes: Arc<Nodes>,
        sources: Vec<Source>,
        prefetch: u16,
        forwarder: Forwarder,
        seen: Arc<Seen>,
    ) -> Self {
        let (errands, requests) = mpsc::unbounded_channel();
        let leases = Leases::new(Arc::clone(&nodes));
        let (ended, polling) = (CancellationToken::new(), CancellationToken::new());
        tokio::spawn(run_errands(Arc::clone(&nodes), requests));
        let shortest = sources.iter().map(|source| source.visibility).min().unwrap_or(Duration::MAX);
        tokio::spawn(Arc::clone(&leases).keep(shortest, ended.clone()));
        let room = Arc::new(Semaphore::new(prefetch.max(1).into()));
        let shared = Arc::new(Shared { nodes, leases, errands, room, polling, problem: Mutex::default() });
        let (arrived, arrivals) = mpsc::unbounded_channel();
        let source = sources.first().map_or_else(|| Arc::from(""), |source| Arc::clone(&source.topic));
        let forwarder = Arc::new(forwarder);
        let mut pollers = JoinSet::new();
        for of in sources {
            let poller = Poller {
                source: of,
                back_to: Arc::clone(&source),
                shared: Arc::clone(&shared),
                arrived: arrived.clone(),
                forwarder: Arc::clone(&forwarder),
            };
            pollers.spawn(poller.run());
        }
        Self { source, shared, pollers, arrivals, seen, prefetch: prefetch.into(), ended }
    }

    pub(super) fn handle(&self) -> Handle {
        Handle(Arc::downgrade(&self.shared))
    }

    /// Ends, and waits until what is not settled has gone back, as far as the broker answers.
    pub(super) async fn give_everything_back(&mut self) {
        self.stop().await;
        self.ended.cancel();
        release(&self.shared.nodes, &self.shared.abandon()).await;
    }

    fn delivery(&self, arrived: Arrived) -> Delivery {
        let Arrived { message, stored, number, lease } = arrived;
        Delivery {
            message: Arc::new(message),
            origin: Origin::default(),
            redelivered: self.seen.again(&lease.place, stored, self.prefetch),
            earlier: Earlier::Nothing,
            lost: lease.lost.clone(),
            settler: Arc::new(self.shared.settler(number, &lease)),
        }
    }
}

#[async_trait]
impl Consumer for NaradConsumer {
    async fn next(&mut self) -> Result<Delivery, BrokerError> {
        while let Some(arrived) = self.arrivals.recv().await {
            // Its lease may have run out on the way here.
            if !arrived.lease.lost.is_cancelled() {
                return Ok(self.delivery(arrived));
            }
        }
        let problem = self.shared.problem.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let reason = problem.unwrap_or_else(|| "it was stopped".to_owned());
        Err(BrokerError::Lost { source_topic: self.source.to_string(), reason })
    }

    fn lost(&self) -> CancellationToken {
        self.shared.polling.clone()
    }

    async fn stop(&mut self) {
        self.shared.polling.cancel();
        // A node that is about to answer a request that ends takes its message back at once.
        while self.pollers.join_next().await.is_some() {}
        let mut unseen = Vec::new();
        while let Ok(arrived) = self.arrivals.try_recv() {
            unseen.push(arrived);
        }
        join_all(unseen.iter().map(|arrived| self.shared.give_back(arrived.number, &arrived.lease))).await;
    }

    async fn close(&mut self) {
        self.ended.cancel();
    }
}

impl Drop for NaradConsumer {
    /// What is not settled goes back.
    fn drop(&mut self) {
        self.ended.cancel();
        let left = self.shared.abandon();
        // Outside of a runtime the leases run out.
        if !left.is_empty()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let nodes = Arc::clone(&self.shared.nodes);
            runtime.spawn(async move { release(&nodes, &left).await });
        }
    }
}

/// A consumer, for a driver that is closed.
pub(super) struct Handle(Weak<Shared>);

impl Handle {
    /// Whether there is nothing to end any more.
    pub(super) fn is_gone(&self) -> bool {
        self.0.strong_count() == 0
    }

    /// Ends the consumer, and waits until what it had has gone back, as far as the broker answers.
    pub(super) async fn end(&self) {
        if let Some(shared) = self.0.upgrade() {
            shared.fail("the driver was closed".to_owned());
            release(&shared.nodes, &shared.abandon()).await;
        }
    }
}

/// Ends leases, so that their messages need not wait for the end of their time.
async fn release(nodes: &Nodes, leases: &[Arc<Lease>]) {
    let mut topics: HashMap<&str, Vec<&str>> = HashMap::new();
    for lease in leases {
        topics.entry(&lease.place.topic).or_default().push(&lease.handle);
    }
    let each = topics.iter().map(|(topic, handles)| settle_many(nodes, topic, handles, Mode::Nack, LAST_WORDS));
    join_all(each).await;
}
