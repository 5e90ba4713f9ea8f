//! What the client library says while a topic is read.

use std::sync::Arc;

use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, Consumer as _, ConsumerContext, Rebalance};
use rdkafka::error::{KafkaError, RDKafkaErrorCode as Code};
use rdkafka::{ClientContext, Statistics};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::broker::kafka::log;

pub(super) struct Watch {
    broker: Arc<str>,
    /// How many partitions were given.
    assigned: watch::Sender<usize>,
    /// Cancelled when they are taken away.
    lost: CancellationToken,
}

impl Watch {
    pub(super) fn new(broker: &str, lost: CancellationToken) -> Self {
        Self { broker: broker.into(), assigned: watch::Sender::new(0), lost }
    }

    pub(super) fn assigned(&self) -> watch::Receiver<usize> {
        self.assigned.subscribe()
    }
}

impl ClientContext for Watch {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, text: &str) {
        log::line(&self.broker, level, facility, text);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        log::error(&self.broker, &error, reason);
    }

    fn stats(&self, _: Statistics) {}
}

impl ConsumerContext for Watch {
    fn pre_rebalance(&self, _: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        if !matches!(rebalance, Rebalance::Assign(_)) {
            self.lost.cancel();
        }
    }

    fn post_rebalance(&self, consumer: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        let Rebalance::Assign(partitions) = rebalance else { return };
        // Nothing is read before it is known what was taken already.
        if let Err(error) = consumer.pause(partitions) {
            tracing::warn!(%error, "partitions cannot be paused");
            self.lost.cancel();
        }
        self.assigned.send_replace(partitions.count());
    }
}

/// Whether the library goes on by itself after this.
pub(super) fn passes(error: &KafkaError) -> bool {
    matches!(
        error.rdkafka_error_code(),
        Some(Code::AllBrokersDown | Code::BrokerTransportFailure | Code::OperationTimedOut | Code::Resolve)
    )
}
