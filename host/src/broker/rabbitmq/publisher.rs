//! Publishing that counts only what was confirmed, routed and kept (rule 2).
//!
//! Each target has a lane of its own, so that one which is missing, full or slow holds up no other. What waits in a lane
//! goes out together, as a batch on a channel that carries nothing else meanwhile: one message at a time where little is
//! to be done, and few round trips where much is.

mod batch;
mod lane;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use lapin::BasicProperties;
use lapin::types::ShortString;
use tokio::time::{Instant, timeout_at};

use self::lane::Lane;
use super::convert::{self, short};
use super::link::Link;
use super::session::Session;
use super::tiers;
use crate::broker::{BrokerError, PublishError, Target};
use crate::message::Message;
use crate::topic::Topic;

/// Publishes for every route of a broker, on a connection of its own: a broker that is short of memory stops
/// reading from connections that publish, and acks must not wait for that.
pub(super) struct Publisher {
    link: Link,
    /// By exchange, and by routing key where that says which queue is meant. The configuration bounds their number.
    lanes: Mutex<HashMap<(ShortString, ShortString), Lane>>,
    confirm_timeout: Duration,
}

impl Publisher {
    pub(super) fn new(link: Link, confirm_timeout: Duration) -> Self {
        Self { link, lanes: Mutex::default(), confirm_timeout }
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
        let outcome = self.lane(target, &publish).publish(publish, session, deadline);
        timeout_at(deadline, outcome).await.unwrap_or(Err(unconfirmed))
    }

    /// Ends the connection. What is not confirmed by then counts as failed.
    pub(super) async fn close(&self) {
        self.link.close().await;
        // Idle channels would keep connections that were replaced. Not dropped before: the library may take the end of a
        // channel at that moment for an error of the connection.
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn lane(&self, target: &Target, publish: &Publish) -> Lane {
        let key = match target {
            // Each queue that a tier gives back to has a routing key of its own, and all are one queue here.
            Target::Tier { .. } => (publish.exchange.clone(), ShortString::default()),
            Target::Topic(_) => (publish.exchange.clone(), publish.routing_key.clone()),
        };
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_insert_with(Lane::start).clone()
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
            Target::Tier { tier, back_to, .. } => (tiers::name(tier), back_to.clone(), tiers::properties(message)?),
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

    fn outage(&self, why: &str) -> PublishError {
        PublishError::Outage(format!("publishing to {}: {why}", self.target))
    }
}
