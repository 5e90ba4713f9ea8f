//! A producer, made when it is first needed, and made anew after an error that ends it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::error::KafkaError;
use rdkafka::producer::{BaseRecord, Producer as _, ThreadedProducer};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::reports::Reports;
use crate::broker::PublishError;
use crate::broker::kafka::off_runtime::OffRuntime;

/// What [`LazyProducer::close`] waits for, at most.
const FLUSH: Duration = Duration::from_secs(10);

type Producer = OffRuntime<ThreadedProducer<Reports>>;

/// A record on its way, without what waits for its report.
pub(super) type Record<'r> = BaseRecord<'r, [u8], [u8], ()>;

pub(super) struct LazyProducer {
    /// The broker's name in the configuration.
    name: Arc<str>,
    config: ClientConfig,
    current: Mutex<Option<Arc<Producer>>>,
}

impl LazyProducer {
    pub(super) fn new(name: &Arc<str>, config: ClientConfig) -> Self {
        Self { name: Arc::clone(name), config, current: Mutex::default() }
    }

    /// Publishes a record, and waits as long as `patience` for the report on it.
    ///
    /// # Errors
    /// `Ok(Err(_))` where the producer or the broker did not take the record.
    pub(super) async fn publish(
        &self,
        record: Record<'_>,
        patience: Duration,
    ) -> Result<Result<(), KafkaError>, PublishError> {
        let topic = record.topic;
        let producer = self.get()?;
        let (report, reported) = oneshot::channel();
        let Record { partition, payload, key, timestamp, headers, .. } = record;
        let record =
            BaseRecord { topic, partition, payload, key, timestamp, headers, delivery_opaque: Box::new(report) };
        // The record is lent to the library, which copies it: nothing of it is held over the wait.
        let sent = producer.send(record).map_err(|(error, _)| error);
        let result = match sent {
            Err(error) => Err(error),
            Ok(()) => match timeout(patience, reported).await {
                Ok(Ok(result)) => result,
                Ok(Err(_)) => return Err(PublishError::Outage(format!("the producer for {topic} was closed"))),
                Err(_) => {
                    let text = format!("no report on a record for {topic} came within {patience:?}");
                    return Err(PublishError::Outage(text));
                }
            },
        };
        if result.is_err() {
            self.renew_after(&producer);
        }
        Ok(result)
    }

    /// Waits until what was published has its reports, and ends the producer.
    pub(super) async fn close(&self) {
        let Some(producer) = self.lock().take() else { return };
        let flushed = tokio::task::spawn_blocking(move || {
            let flushed = producer.flush(FLUSH);
            if let Some(producer) = Arc::into_inner(producer) {
                producer.end();
            }
            flushed
        })
        .await;
        if let Ok(Err(error)) = flushed {
            tracing::warn!(broker = %self.name, %error, "records may not have been published: no report came in time");
        }
    }

    fn get(&self) -> Result<Arc<Producer>, PublishError> {
        let mut current = self.lock();
        if let Some(producer) = &*current {
            return Ok(Arc::clone(producer));
        }
        let context = Reports { broker: Arc::clone(&self.name) };
        let made = self.config.create_with_context(context).map_err(|error| PublishError::Outage(error.to_string()))?;
        let made = Arc::new(OffRuntime::new(made));
        *current = Some(Arc::clone(&made));
        Ok(made)
    }

    /// An idempotent producer that cannot keep its promise any more ends; the next publish gets another.
    fn renew_after(&self, failed: &Arc<Producer>) {
        let Some((code, reason)) = failed.client().fatal_error() else { return };
        let mut current = self.lock();
        if current.as_ref().is_some_and(|current| Arc::ptr_eq(current, failed)) {
            tracing::warn!(broker = %self.name, ?code, reason, "the producer has ended, and another takes its place");
            *current = None;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<Producer>>> {
        // What is guarded is replaced whole.
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
