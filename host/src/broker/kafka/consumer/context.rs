//! What the client library tells of the group: which partitions are assigned here.
//!
//! It tells so while the poller polls. It is only noted there, and dealt with afterwards: an assignment takes questions to
//! the broker.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, Consumer as _, ConsumerContext, RebalanceProtocol};
use rdkafka::error::{KafkaError, KafkaResult};
use rdkafka::types::RDKafkaRespErr;
use rdkafka::{ClientContext, Statistics, TopicPartitionList};

use crate::broker::kafka::log;

/// What has happened since the last look.
pub(super) enum Event {
    Assigned(TopicPartitionList),
    Revoked {
        partitions: TopicPartitionList,
        /// The broker has given them to another already.
        lost: bool,
    },
}

pub(super) struct Context {
    broker: Arc<str>,
    events: Mutex<Vec<Event>>,
    /// Nobody deals with events any more.
    leaving: AtomicBool,
}

impl Context {
    /// For a client of the broker of this name.
    pub(super) fn new(broker: &str) -> Self {
        Self { broker: broker.into(), events: Mutex::default(), leaving: AtomicBool::new(false) }
    }

    pub(super) fn take_events(&self) -> Vec<Event> {
        std::mem::take(&mut *self.events.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// From now on the partitions go as the group wants it.
    pub(super) fn leave(&self) {
        self.leaving.store(true, Ordering::Release);
    }

    fn note(&self, event: Event) {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).push(event);
    }
}

/// Whether partitions come and go one by one, or all at a time.
fn is_cooperative(consumer: &BaseConsumer<Context>) -> bool {
    matches!(consumer.rebalance_protocol(), RebalanceProtocol::Cooperative)
}

/// Begins to read partitions, where their offsets say.
pub(super) fn assign(consumer: &BaseConsumer<Context>, partitions: &TopicPartitionList) -> KafkaResult<()> {
    if is_cooperative(consumer) { consumer.incremental_assign(partitions) } else { consumer.assign(partitions) }
}

/// Lets go of partitions.
pub(super) fn unassign(consumer: &BaseConsumer<Context>, partitions: &TopicPartitionList) -> KafkaResult<()> {
    if is_cooperative(consumer) { consumer.incremental_unassign(partitions) } else { consumer.unassign() }
}

impl ClientContext for Context {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, text: &str) {
        log::line(&self.broker, level, facility, text);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        log::error(&self.broker, &error, reason);
    }

    fn stats(&self, _: Statistics) {}
}

impl ConsumerContext for Context {
    fn rebalance(&self, consumer: &BaseConsumer<Self>, kind: RDKafkaRespErr, partitions: &mut TopicPartitionList) {
        let assigned = kind == RDKafkaRespErr::RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS;
        if self.leaving.load(Ordering::Acquire) {
            // The library waits for an answer, and ends once nothing is assigned.
            let done = if assigned { assign(consumer, partitions) } else { unassign(consumer, partitions) };
            if let Err(error) = done {
                tracing::debug!(%error, "partitions could not be let go of at the end");
            }
            return;
        }
        let partitions = partitions.clone();
        self.note(match assigned {
            true => Event::Assigned(partitions),
            false => Event::Revoked { partitions, lost: consumer.assignment_lost() },
        });
    }
}
