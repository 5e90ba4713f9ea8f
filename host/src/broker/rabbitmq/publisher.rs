//! Publishing that counts only what was confirmed, routed and kept (rule 2).
//!
//! Many messages are under way at once, but only one on each channel. A returned message then belongs to the one
//! confirm that is awaited there: the protocol sends returns without a tag, and on a shared channel a confirm that
//! covers several messages would leave open which of them came back. It also keeps apart what goes wrong: a missing
//! exchange ends the channel of one message and no other's.

mod pool;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lapin::options::BasicPublishOptions;
use lapin::types::ShortString;
use lapin::{BasicProperties, Confirmation};
use tokio::time::{Instant, timeout_at};

use self::pool::{Pool, Slot};
use super::convert::{self, short};
use super::link::Link;
use super::reason::{publish_error, reason};
use super::session::Session;
use super::tiers;
use crate::broker::{BrokerError, PublishError, Target};
use crate::message::Message;
use crate::topic::Topic;

/// Publishes for every route of a broker, on a connection of its own: a broker that is short of memory stops
/// reading from connections that publish, and acks must not wait for that.
pub(super) struct Publisher {
    link: Link,
    pool: Arc<Pool>,
    confirm_timeout: Duration,
}

impl Publisher {
    pub(super) fn new(link: Link, confirm_timeout: Duration) -> Self {
        Self { link, pool: Arc::new(Pool::new()), confirm_timeout }
    }

    /// The connection, made if need be.
    pub(super) async fn session(&self) -> Result<Arc<Session>, BrokerError> {
        self.link.session().await
    }

    /// Publishes one message and waits until the broker has taken charge of it.
    pub(super) async fn publish(&self, target: &Target, message: &Message) -> Result<(), PublishError> {
        let publish = Publish::new(target, message)?;
        let session = self.session().await.map_err(|error| PublishError::Outage(error.to_string()))?;
        publish.fits(session.frame_max())?;
        if session.blocked() {
            return Err(publish.outage("the broker takes no messages now (memory or disk alarm)"));
        }
        let deadline = Instant::now() + self.confirm_timeout;
        let unconfirmed = publish.outage(&format!("no confirm within {:?}", self.confirm_timeout));
        let Ok(slot) = timeout_at(deadline, self.pool.slot()).await else {
            return Err(publish.outage("every channel waits for the broker's confirm"));
        };
        // A task of its own: whoever stops waiting must not leave a channel with a confirm still to come.
        let running = tokio::spawn(publish.run(session, slot, deadline));
        match timeout_at(deadline, running).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(error)) => Err(PublishError::Outage(format!("publishing to {target}: {error}"))),
            Err(_) => Err(unconfirmed),
        }
    }

    /// Ends the connection. What is not confirmed by then counts as failed.
    pub(super) async fn close(&self) {
        // Idle channels would keep connections that were replaced.
        self.pool.clear();
        self.link.close().await;
    }
}

/// One message on its way.
struct Publish {
    target: String,
    exchange: ShortString,
    routing_key: ShortString,
    properties: BasicProperties,
    body: Bytes,
}

impl Publish {
    fn new(target: &Target, message: &Message) -> Result<Self, PublishError> {
        let (exchange, routing_key, properties) = match target {
            Target::Topic(Topic::Named(queue)) => (String::new(), queue.clone(), convert::properties(message)?),
            Target::Topic(Topic::Exchange { exchange, routing_key }) => {
                (exchange.clone(), routing_key.clone(), convert::properties(message)?)
            }
            Target::Tier { tier, back_to } => (tiers::name(tier), back_to.clone(), tiers::properties(message)?),
        };
        Ok(Self {
            target: target.to_string(),
            exchange: short(&exchange, || format!("the exchange of {target}"))?,
            routing_key: short(&routing_key, || format!("the routing key of {target}"))?,
            properties,
            body: message.body.clone().unwrap_or_default(),
        })
    }

    /// Whether the broker would take properties and headers: a larger frame makes it end the connection.
    fn fits(&self, frame_max: usize) -> Result<(), PublishError> {
        let size = convert::content_header_frame(&self.properties);
        if size <= frame_max {
            return Ok(());
        }
        Err(PublishError::TooLarge(format!(
            "publishing to {}: headers and properties take {size} bytes, and the broker's frames hold {frame_max}",
            self.target
        )))
    }

    async fn run(self, session: Arc<Session>, slot: Slot, deadline: Instant) -> Result<(), PublishError> {
        let failed = |error: lapin::Error| publish_error(&self.target, &error);
        let no_channel = |error: lapin::Error| self.outage(&format!("no channel: {}", reason(&error)));
        let channel = slot.channel(&session).await.map_err(no_channel)?;
        let options = BasicPublishOptions { mandatory: true, immediate: false };
        let (exchange, routing_key) = (self.exchange.clone(), self.routing_key.clone());
        let confirm = channel
            .basic_publish(exchange, routing_key, options, &self.body, self.properties.clone())
            .await
            .map_err(failed)?;
        match timeout_at(deadline, confirm).await {
            Ok(Ok(confirmation)) => {
                slot.keep(channel);
                self.judge(&confirmation)
            }
            Ok(Err(error)) => Err(failed(error)),
            Err(_) => {
                // A confirm that comes late must not be taken for the next message's.
                slot.discard(&channel).await;
                Err(self.outage("no confirm in time"))
            }
        }
    }

    fn judge(&self, confirmation: &Confirmation) -> Result<(), PublishError> {
        match confirmation {
            Confirmation::Ack(None) => Ok(()),
            Confirmation::Ack(Some(returned)) | Confirmation::Nack(Some(returned)) => Err(self.outage(&format!(
                "no queue takes it ({}): declare the queue, or bind one to the exchange",
                returned.reply_text
            ))),
            Confirmation::Nack(None) => Err(self.outage("the broker refused it: a queue is full or unavailable")),
            Confirmation::NotRequested => Err(self.outage("the channel gives no confirms")),
        }
    }

    fn outage(&self, why: &str) -> PublishError {
        PublishError::Outage(format!("publishing to {}: {why}", self.target))
    }
}
