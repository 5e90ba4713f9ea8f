//! The producer's reports on its records.

use std::sync::Arc;

use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::KafkaError;
use rdkafka::producer::{DeliveryResult, ProducerContext};
use rdkafka::{ClientContext, Statistics};
use tokio::sync::oneshot;

use crate::broker::kafka::log;

/// Gives each report to the publish that waits for it.
pub(super) struct Reports {
    /// The broker's name in the configuration.
    pub(super) broker: Arc<str>,
}

impl ClientContext for Reports {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, text: &str) {
        log::line(&self.broker, level, facility, text);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        log::error(&self.broker, &error, reason);
    }

    fn stats(&self, _: Statistics) {}
}

impl ProducerContext for Reports {
    type DeliveryOpaque = Box<oneshot::Sender<Result<(), KafkaError>>>;

    fn delivery(&self, report: &DeliveryResult<'_>, waiting: Self::DeliveryOpaque) {
        let result = report.as_ref().map(drop).map_err(|(error, _)| error.clone());
        // Nobody waits where the publish was given up.
        let _ = waiting.send(result);
    }
}
