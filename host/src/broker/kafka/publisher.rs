//! Publishes with one idempotent producer: a publish counts once every replica in sync has the record (rule 2).
//!
//! * `reports`: the producer's reports, each to the publish that waits for it. `failure`: what an error means.

mod failure;
mod reports;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::producer::{BaseRecord, Producer as _, ThreadedProducer};
use tokio::sync::oneshot;
use tokio::time::timeout;

use self::failure::failure;
use self::reports::Reports;
use super::{KafkaSettings, convert, tiers, topics};
use crate::broker::{PublishError, Target};
use crate::message::Message;
use crate::topic::Topic;

/// The library gives a record up by itself after `publish_timeout`; this is for a report that never comes.
const GRACE: Duration = Duration::from_secs(5);

/// What [`Publisher::close`] waits for, at most.
const FLUSH: Duration = Duration::from_secs(10);

type Producer = ThreadedProducer<Reports>;

/// A producer, made when it is first needed, and made anew after an error that ends it.
pub(super) struct Publisher {
    name: Arc<str>,
    config: ClientConfig,
    timeout: Duration,
    producer: Mutex<Option<Arc<Producer>>>,
}

impl Publisher {
    pub(super) fn new(settings: &KafkaSettings) -> Self {
        Self {
            name: settings.name.as_str().into(),
            config: settings.producer_config(),
            timeout: settings.publish_timeout + GRACE,
            producer: Mutex::default(),
        }
    }

    /// Publishes, and returns once every replica in sync has the record. A future that is dropped leaves the record to be
    /// published or not, as a crash would.
    pub(super) async fn publish(&self, target: &Target, message: &Message) -> Result<(), PublishError> {
        let (topic, back_to) = match target {
            Target::Topic(Topic::Named(name)) => (name.clone(), None),
            Target::Topic(topic @ Topic::Exchange { .. }) => {
                return Err(PublishError::Outage(topics::no_exchanges(topic)));
            }
            Target::Tier { tier, route, back_to } => {
                (tiers::topic(route, tier), Some((tiers::BACK_TO, back_to.as_str())))
            }
        };
        if let Err(unfit) = topics::check_name(&topic) {
            return Err(PublishError::Outage(unfit));
        }
        let headers =
            convert::to_headers(message, back_to).map_err(|unfit| PublishError::Refused(unfit.to_string()))?;
        let producer = self.producer()?;
        let (report, reported) = oneshot::channel();
        // No partition of the source: the target may have fewer. The key decides.
        let record = BaseRecord {
            topic: &topic,
            partition: None,
            payload: message.body.as_deref(),
            key: message.key.as_deref(),
            // Never the message's own: by that the broker would count how long it is kept.
            timestamp: None,
            headers,
            delivery_opaque: Box::new(report),
        };
        let sent = producer.send(record).map_err(|(error, _)| error);
        let result = match sent {
            Err(error) => Err(error),
            Ok(()) => match timeout(self.timeout, reported).await {
                Ok(Ok(result)) => result,
                Ok(Err(_)) => return Err(PublishError::Outage(format!("the producer for {topic} was closed"))),
                Err(_) => {
                    return Err(PublishError::Outage(format!(
                        "no report on a record for {topic} came within {:?}",
                        self.timeout
                    )));
                }
            },
        };
        result.map_err(|error| {
            self.renew_after(&producer);
            failure(&topic, &error)
        })
    }

    /// Waits until what was published has its reports, and ends the producer.
    pub(super) async fn close(&self) {
        let Some(producer) = self.lock().take() else { return };
        let flushed = tokio::task::spawn_blocking(move || producer.flush(FLUSH)).await;
        if let Ok(Err(error)) = flushed {
            tracing::warn!(broker = %self.name, %error, "records may not have been published: no report came in time");
        }
    }

    fn producer(&self) -> Result<Arc<Producer>, PublishError> {
        let mut producer = self.lock();
        if let Some(producer) = &*producer {
            return Ok(Arc::clone(producer));
        }
        let context = Reports { broker: Arc::clone(&self.name) };
        let made: Producer =
            self.config.create_with_context(context).map_err(|error| PublishError::Outage(error.to_string()))?;
        let made = Arc::new(made);
        *producer = Some(Arc::clone(&made));
        Ok(made)
    }

    /// An idempotent producer that cannot keep its promise any more ends; the next publish gets another.
    fn renew_after(&self, failed: &Arc<Producer>) {
        let Some((code, reason)) = failed.client().fatal_error() else { return };
        let mut producer = self.lock();
        if producer.as_ref().is_some_and(|current| Arc::ptr_eq(current, failed)) {
            tracing::warn!(broker = %self.name, ?code, reason, "the producer has ended, and another takes its place");
            *producer = None;
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Arc<Producer>>> {
        // What is guarded is replaced whole.
        self.producer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
