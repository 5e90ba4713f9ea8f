//! Takes messages from one queue and settles them.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::time::sleep_until;
use tokio_util::sync::CancellationToken;

use super::queue::{Queue, Taken};
use crate::broker::{BrokerError, Consumer, Delivery, Earlier, Origin, SettleError, Settlement, Settler};

/// A consumer of one queue. Dropping it puts what it has not settled back.
pub(super) struct MemoryConsumer {
    queue: Arc<Queue>,
    number: u64,
    prefetch: usize,
    lost: CancellationToken,
    stopped: bool,
}

impl MemoryConsumer {
    /// Attaches to the queue. As in AMQP, a prefetch of zero sets no bound.
    pub(super) fn new(queue: Arc<Queue>, prefetch: u16) -> Self {
        let (number, lost) = queue.attach();
        let prefetch = if prefetch == 0 { usize::MAX } else { prefetch.into() };
        Self { queue, number, prefetch, lost, stopped: false }
    }

    fn ended(&self, reason: &str) -> BrokerError {
        BrokerError::Lost { source_topic: self.queue.name.clone(), reason: reason.to_owned() }
    }
}

#[async_trait]
impl Consumer for MemoryConsumer {
    async fn next(&mut self) -> Result<Delivery, BrokerError> {
        if self.stopped {
            return Err(self.ended("it was stopped"));
        }
        loop {
            // Listening starts before looking, so that no change falls in between. Nothing is awaited between taking a
            // message and returning it, so dropping this future loses none.
            let mut changed = std::pin::pin!(self.queue.changed());
            changed.as_mut().enable();
            match self.queue.take(self.number, self.prefetch) {
                Taken::Message { delivery, message, redelivered } => {
                    let settler = Arc::new(MemorySettler { queue: Arc::clone(&self.queue), delivery });
                    let origin = Origin::default();
                    let (earlier, lost) = (Earlier::Nothing, self.lost.clone());
                    return Ok(Delivery { message, origin, redelivered, earlier, settler, lost });
                }
                Taken::Nothing { until: None } => changed.await,
                Taken::Nothing { until: Some(due) } => {
                    tokio::select! {
                        () = changed => {}
                        () = sleep_until(due) => {}
                    }
                }
                Taken::Cut => return Err(self.ended("the connection was cut")),
            }
        }
    }

    fn lost(&self) -> CancellationToken {
        self.lost.clone()
    }

    async fn stop(&mut self) {
        self.stopped = true;
    }
}

impl Drop for MemoryConsumer {
    fn drop(&mut self) {
        self.queue.detach(self.number);
    }
}

/// Settles one delivery.
struct MemorySettler {
    queue: Arc<Queue>,
    delivery: u64,
}

#[async_trait]
impl Settler for MemorySettler {
    async fn settle(&self, settlement: Settlement) -> Result<(), SettleError> {
        match settlement {
            Settlement::Ack => self.queue.acknowledge(self.delivery),
            Settlement::Reject | Settlement::Release => self.queue.give_back(self.delivery),
        }
    }
}
