//! RabbitMQ, over AMQP 0-9-1.
//!
//! * `link`, `session`: connections, one to consume on and one to publish on, made when needed and never repaired
//!   behind anybody's back.
//! * `consuming`: which connection a source is consumed on.
//! * `consumer`: deliveries and their settlement. `publisher`: confirmed, routed and kept, or an error.
//! * `preparation`, with `topology`, `declaration` and `tiers`: what must be there before a route starts.
//! * `convert`: messages to AMQP's properties and back.

mod address;
mod consumer;
mod consuming;
mod convert;
mod declaration;
mod depths;
mod link;
mod origins;
mod preparation;
mod publisher;
mod reason;
mod session;
mod tiers;
mod topology;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use self::address::Address;
use self::consumer::RabbitConsumer;
use self::consuming::Consuming;
use self::depths::Depths;
use self::link::Link;
use self::origins::Origins;
use self::publisher::Publisher;
use self::topology::Topology;
use crate::broker::{Broker, BrokerError, Capabilities, Consumer, Plan, Prepared, PublishError, Target};
use crate::message::Message;
use crate::topic::Topic;

/// Room in a frame for the properties beside the headers: eleven of at most 256 bytes, and what surrounds them.
const PROPERTIES_ROOM: usize = 4096;

/// How to reach a RabbitMQ broker, and what may be done there.
#[derive(Clone)]
pub struct RabbitMqSettings {
    /// The broker's name in the configuration, for messages.
    pub name: String,
    /// `amqp://user:password@host:5672/virtual-host`. It stays out of every message and log.
    pub url: String,
    /// Declare tiers and missing dead-letter queues. Without it they must be there already.
    pub declare: bool,
    /// How long a publish may wait for the broker's confirm before it counts as failed.
    pub confirm_timeout: Duration,
}

impl RabbitMqSettings {
    /// The settings for `url` with everything else as by default: declare what is missing, 10 s for a confirm.
    pub fn new(name: impl Into<String>, url: impl Into<String>) -> Self {
        Self { name: name.into(), url: url.into(), declare: true, confirm_timeout: Duration::from_secs(10) }
    }
}

/// A RabbitMQ broker. It connects when it is first needed, and again after a connection was lost.
pub struct RabbitMq {
    address: Arc<Address>,
    declare: bool,
    consuming: Arc<Consuming>,
    publisher: Publisher,
    origins: Origins,
    depths: Depths,
}

impl RabbitMq {
    /// Reads the settings, without connecting.
    ///
    /// # Errors
    /// [`BrokerError::Unfit`] where the URL cannot be used; the text repeats nothing of it.
    pub fn new(settings: &RabbitMqSettings) -> Result<Self, BrokerError> {
        let address = Arc::new(Address::parse(&settings.name, &settings.url)?);
        Ok(Self {
            consuming: Arc::new(Consuming::new(address.clone())),
            publisher: Publisher::new(Link::new(address.clone(), "publishing"), settings.confirm_timeout),
            declare: settings.declare,
            origins: Origins::default(),
            depths: Depths::default(),
            address,
        })
    }
}

#[async_trait]
impl Broker for RabbitMq {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            kind: "rabbitmq",
            // The broker takes a delivery back after 30 minutes; that must hold several retries.
            max_retry_delay: Duration::from_secs(120),
            max_hold: Duration::from_secs(15 * 60),
            tiers: true,
            answers_settles: false,
            remembers_starts: "a redelivered flag; quorum queues also count hand-overs, innocent prefetched ones \
                               included, so the host notes in its state folder what ran alone when it ended",
        }
    }

    async fn prepare(&self, plan: &Plan) -> Result<Prepared, BrokerError> {
        let session = self.consuming.session().await?;
        // What is published needs the other connection: better to learn now that it cannot be had.
        let frame_max = self.publisher.session().await?.frame_max();
        let topology = Topology { session: &session, address: &self.address };
        let findings = preparation::prepare(&topology, plan, self.declare).await?;
        Ok(Prepared {
            requeue_is_safe: findings.requeue_is_safe,
            single_active_consumer: findings.single_active_consumer,
            max_header_bytes: Some(frame_max.saturating_sub(PROPERTIES_ROOM).max(frame_max / 2)),
            remarks: findings.remarks,
        })
    }

    async fn consume(&self, source: &str, prefetch: u16) -> Result<Box<dyn Consumer>, BrokerError> {
        let session = self.consuming.session_for(source).await?;
        Ok(Box::new(RabbitConsumer::start(session, self.consuming.clone(), source, prefetch).await?))
    }

    async fn publish(&self, target: &Target, message: &Message) -> Result<(), PublishError> {
        if let Target::Tier { back_to, .. } = target {
            let session = self.consuming.session().await.map_err(|error| PublishError::Outage(error.to_string()))?;
            self.origins.check(&Topology { session: &session, address: &self.address }, back_to).await?;
        }
        self.publisher.publish(target, message).await
    }

    async fn depth(&self, topic: &Topic) -> Result<Option<u64>, BrokerError> {
        match topic {
            Topic::Named(queue) => {
                let session = self.consuming.session().await?;
                self.depths.ask(&session, &self.address, queue).await.map(Some)
            }
            Topic::Exchange { .. } => Ok(None),
        }
    }

    async fn hand_back_limit(&self, queue: &str) -> Result<Option<u64>, BrokerError> {
        let session = self.consuming.session().await?;
        depths::hand_back_limit(&Topology { session: &session, address: &self.address }, queue).await
    }

    async fn close(&self) {
        tokio::join!(self.consuming.close(), self.publisher.close());
    }
}
