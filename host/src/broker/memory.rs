//! Bounded queues in this process, for tests, the demo and embedding.
//!
//! A dead-letter topic is a queue like any other. A tier is a timer: a message waits beside the queue that it returns to.
//! Everything ends with the process. A message's own expiration is not applied.
//!
//! * `queue`: one queue and its rules.
//! * `consumer`: takes and settles.
//! * [`faults`]: what tests and the demo can break.

mod consumer;
pub mod faults;
mod queue;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::{Instant, sleep_until};

use super::{Broker, BrokerError, Capabilities, Consumer, HandBackLimit, Kept, Plan, Prepared, PublishError, Target};
use crate::message::Message;
use crate::topic::{Tier, Topic};
use consumer::MemoryConsumer;
use faults::{Fate, Faults};
pub use queue::Depth;
use queue::Queue;

/// A broker in memory. Clones are the same broker.
#[derive(Debug, Clone)]
pub struct MemoryBroker {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    capacity: usize,
    queues: Mutex<BTreeMap<String, Arc<Queue>>>,
    faults: Faults,
}

impl MemoryBroker {
    /// Messages that a queue holds unless it is said otherwise.
    pub const DEFAULT_CAPACITY: usize = 10_000;

    /// A broker without queues; they are made when a route prepares them or a message is published to them.
    ///
    /// Each will hold `capacity` ready messages, at least one, and as many that are on their way back from a tier.
    /// Past that, publishing fails until there is room. What is handed back always fits.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        let shared = Shared { capacity: capacity.max(1), queues: Mutex::default(), faults: Faults::default() };
        Self { shared: Arc::new(shared) }
    }

    /// Publishes to a queue, as [`Broker::publish`] does to a topic of that name.
    pub fn publish_to(&self, queue: &str, message: Message) -> Result<(), PublishError> {
        self.accept(&Target::Topic(queue.into()), message)
    }

    /// Takes every ready message out of a queue.
    #[must_use]
    pub fn drain(&self, queue: &str) -> Vec<Arc<Message>> {
        self.existing(queue).map(|queue| queue.drain()).unwrap_or_default()
    }

    /// The first `limit` ready messages of a queue, which stay there.
    #[must_use]
    pub fn peek(&self, queue: &str, limit: usize) -> Vec<Arc<Message>> {
        self.existing(queue).map(|queue| queue.peek(limit)).unwrap_or_default()
    }

    /// How many messages a queue has; none where there is no such queue.
    #[must_use]
    pub fn depth(&self, queue: &str) -> Depth {
        self.existing(queue).map(|queue| queue.depth()).unwrap_or_default()
    }

    /// Waits until a queue's depth is as wanted, and answers with that depth.
    pub async fn wait_for(&self, queue: &str, mut wanted: impl FnMut(Depth) -> bool) -> Depth {
        let queue = self.queue(queue);
        loop {
            let mut changed = std::pin::pin!(queue.changed());
            changed.as_mut().enable();
            let depth = queue.depth();
            if wanted(depth) {
                return depth;
            }
            match queue.next_due() {
                None => changed.await,
                Some(due) => tokio::select! {
                    () = changed => {}
                    () = sleep_until(due) => {}
                },
            }
        }
    }

    /// The names of all queues, in order.
    #[must_use]
    pub fn queues(&self) -> Vec<String> {
        self.lock().keys().cloned().collect()
    }

    /// Cuts every consumer off: what they have not settled is ready again, and their next call fails.
    pub fn disconnect(&self) {
        let queues: Vec<_> = self.lock().values().cloned().collect();
        for queue in queues {
            queue.detach_all();
        }
    }

    /// The faults that this broker will show.
    #[must_use]
    pub fn faults(&self) -> &Faults {
        &self.shared.faults
    }

    fn queue(&self, name: &str) -> Arc<Queue> {
        let mut queues = self.lock();
        if let Some(queue) = queues.get(name) {
            return Arc::clone(queue);
        }
        let queue = Arc::new(Queue::new(name, self.shared.capacity));
        queues.insert(name.to_owned(), Arc::clone(&queue));
        queue
    }

    fn existing(&self, name: &str) -> Option<Arc<Queue>> {
        self.lock().get(name).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Queue>>> {
        self.shared.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the message or not, and tells the publisher the truth or, where a fault is planned, not.
    fn accept(&self, target: &Target, message: Message) -> Result<(), PublishError> {
        match self.shared.faults.strike(target, &message) {
            Fate::Kept => self.keep(target, message),
            Fate::KeptUnconfirmed(error) => self.keep(target, message).and(Err(error)),
            Fate::Lost => Ok(()),
            Fate::Refused(error) => Err(error),
        }
    }

    fn keep(&self, target: &Target, message: Message) -> Result<(), PublishError> {
        let message = Arc::new(message);
        match target {
            Target::Topic(Topic::Named(name)) => self.queue(name).push(message),
            Target::Topic(topic @ Topic::Exchange { .. }) => Err(PublishError::Outage(no_exchanges(topic))),
            Target::Tier { tier, back_to, .. } => self.queue(back_to).push_delayed(message, due(tier)?),
        }
    }
}

impl Default for MemoryBroker {
    fn default() -> Self {
        Self::new(Self::DEFAULT_CAPACITY)
    }
}

#[async_trait]
impl Broker for MemoryBroker {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            kind: "memory",
            // Nothing bounds it here, and no slot should be held for longer.
            max_retry_delay: Duration::from_secs(24 * 60 * 60),
            max_hold: Duration::MAX,
            tiers: true,
            answers_settles: true,
            partitions: false,
            tells_of_interruptions: false,
            remembers_starts: "that a message was handed over before, until the process ends: messages do not outlive it",
            order: "that of arrival; what is handed back goes to where it was",
            largest: "any size",
            interruptions: "never",
            keeps: Kept::ALL,
        }
    }

    async fn prepare(&self, plan: &Plan) -> Result<Prepared, BrokerError> {
        for topic in plan.topics.iter().chain(&plan.origins) {
            match topic {
                Topic::Named(name) => drop(self.queue(name)),
                Topic::Exchange { .. } => {
                    return Err(BrokerError::Unfit(format!("route {}: {}", plan.route, no_exchanges(topic))));
                }
            }
        }
        self.queue(&plan.source);
        Ok(Prepared {
            requeue_is_safe: true,
            // It lives in this process, where a route is all that consumes it.
            single_active_consumer: Some(true),
            max_header_bytes: None,
            hold: None,
            remarks: vec![format!("messages of {} are in memory only and end with the process", plan.source)],
        })
    }

    async fn consume(&self, plan: &Plan, prefetch: u16) -> Result<Box<dyn Consumer>, BrokerError> {
        Ok(Box::new(MemoryConsumer::new(self.queue(&plan.source), prefetch)))
    }

    async fn publish(&self, target: &Target, message: &Message) -> Result<(), PublishError> {
        self.accept(target, message.clone())
    }

    async fn depth(&self, topic: &Topic) -> Result<Option<u64>, BrokerError> {
        let Topic::Named(name) = topic else { return Ok(None) };
        let queue = self.existing(name).ok_or_else(|| BrokerError::Unfit(format!("there is no queue '{name}'")))?;
        Ok(Some(queue.depth().ready as u64))
    }

    /// None: what is handed back stays.
    async fn hand_back_limit(&self, _queue: &str) -> Result<HandBackLimit, BrokerError> {
        Ok(HandBackLimit::None)
    }

    /// Cuts every consumer off. The queues stay for whoever connects next.
    async fn close(&self) {
        self.disconnect();
    }
}

fn due(tier: &Tier) -> Result<Instant, PublishError> {
    let too_far = || PublishError::Refused(format!("tier {} is longer than the clock can count", tier.name));
    Instant::now().checked_add(tier.delay).ok_or_else(too_far)
}

fn no_exchanges(topic: &Topic) -> String {
    format!("a memory broker has no exchanges, so nothing can be published to {topic}; name a queue instead")
}

#[cfg(test)]
mod tests;
