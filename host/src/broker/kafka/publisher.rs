//! Publishes with an idempotent producer: a publish counts once every replica in sync has the record (rule 2).
//!
//! * `lazy`: a producer that is made when it is needed. `reports`: its reports, each to the publish that waits for it.
//! * `failure`: what an error means.

mod failure;
mod lazy;
mod reports;

use std::time::Duration;

use self::failure::{concerns_the_batch, failure};
use self::lazy::{LazyProducer, Record};
use super::{KafkaSettings, convert, tiers, topics};
use crate::broker::{PublishError, Target};
use crate::message::Message;
use crate::topic::Topic;

/// The library gives a record up by itself after `publish_timeout`; this is for a report that never comes.
const GRACE: Duration = Duration::from_secs(5);

/// The producers of one cluster.
pub(super) struct Publisher {
    timeout: Duration,
    batching: LazyProducer,
    /// Sends each record by itself: what a topic does not take for its size is a whole batch, and the record may be a small one
    /// in it.
    single: LazyProducer,
}

impl Publisher {
    pub(super) fn new(settings: &KafkaSettings) -> Self {
        let name = settings.name.as_str().into();
        let mut single = settings.producer_config();
        single.set("batch.num.messages", "1");
        Self {
            timeout: settings.publish_timeout + GRACE,
            batching: LazyProducer::new(&name, settings.producer_config()),
            single: LazyProducer::new(&name, single),
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
        let record = || {
            let headers = convert::to_headers(message, back_to);
            let headers = headers.map_err(|unfit| PublishError::Refused(unfit.to_string()))?;
            Ok(Record {
                topic: &topic,
                // None of the source: the target may have fewer. The key decides.
                partition: None,
                payload: message.body.as_deref(),
                key: message.key.as_deref(),
                // Never the message's own: by that the broker would count how long it is kept.
                timestamp: None,
                headers,
                delivery_opaque: (),
            })
        };
        let mut result = self.batching.publish(record()?, self.timeout).await?;
        if result.as_ref().is_err_and(concerns_the_batch) {
            result = self.single.publish(record()?, self.timeout).await?;
        }
        result.map_err(|error| failure(&topic, &error))
    }

    /// Waits until what was published has its reports, and ends the producers.
    pub(super) async fn close(&self) {
        tokio::join!(self.batching.close(), self.single.close());
    }
}
