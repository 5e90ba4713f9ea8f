//! RabbitMQ, over AMQP 0-9-1.
//!
//! * `link`, `session`: connections, one to consume on and one to publish on, made when needed and never repaired
//!   behind anybody's back.
//! * `consumer`: deliveries and their settlement. `publisher`: confirmed, routed and kept, or an error.
//! * `transport`: TCP and TLS, and what the client library must not see. `address`: where brokers are.
//! * `preparation`, with `topology`, `declaration`, `management` and `tiers`: what must be there before a route starts.
//! * `convert`: messages to AMQP's properties and back.

mod address;
mod consumer;
mod convert;
mod declaration;
mod depths;
mod link;
mod management;
mod origins;
mod preparation;
mod publisher;
mod queue_facts;
mod reason;
mod session;
mod tiers;
mod topology;
mod transport;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use self::address::Addresses;
use self::consumer::RabbitConsumer;
use self::depths::Depths;
use self::link::{Link, Way};
use self::management::Management;
use self::origins::Origins;
use self::publisher::Publisher;
use self::topology::Topology;
use self::transport::Tls;
pub use super::tls::TlsSettings;
use crate::broker::{
    Broker, BrokerError, Capabilities, Consumer, HandBackLimit, HoldLimits, Kept, Plan, Prepared, PublishError, Target,
};
use crate::message::Message;
use crate::topic::Topic;

/// Room in a frame for the properties beside the headers: eleven of at most 256 bytes, and what surrounds them.
const PROPERTIES_ROOM: usize = 4096;

/// How deep tables and arrays in headers may lie in each other; what lies deeper is kept as bytes. Whatever reads headers
/// by recursion is bounded by this.
const MAX_HEADER_DEPTH: usize = 32;

/// How to reach a RabbitMQ broker, and what may be done there.
#[derive(Clone)]
pub struct RabbitMqSettings {
    /// The broker's name in the configuration, for messages.
    pub name: String,
    /// `amqp://user:password@host:5672/virtual-host`, or `amqps://`. Of several, each is tried in turn, from the last
    /// good one on. They stay out of every message and log.
    pub urls: Vec<String>,
    /// For `amqps` addresses.
    pub tls: TlsSettings,
    /// The HTTP API of the management plugin, `http://user:password@host:15672`, for checks that AMQP does not allow.
    pub management: Option<String>,
    /// After how long the broker takes a delivery back that is not settled, where a queue says nothing else.
    pub consumer_timeout: Duration,
    /// Declare tiers and missing dead-letter queues. Without it they must be there already.
    pub declare: bool,
    /// How long a publish may wait for the broker's confirm before it counts as failed.
    pub confirm_timeout: Duration,
}

impl RabbitMqSettings {
    /// The settings for `url` with everything else as by default: declare what is missing, 10 s for a confirm, RabbitMQ's own
    /// 30 minutes for a delivery.
    pub fn new(name: impl Into<String>, url: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            urls: vec![url.into()],
            tls: TlsSettings::default(),
            management: None,
            consumer_timeout: Duration::from_secs(30 * 60),
            declare: true,
            confirm_timeout: Duration::from_secs(10),
        }
    }
}

/// A RabbitMQ broker. It connects when it is first needed, and again after a connection was lost.
pub struct RabbitMq {
    declare: bool,
    management: Option<Management>,
    consumer_timeout: Duration,
    consuming: Link,
    publisher: Publisher,
    origins: Origins,
    depths: Depths,
}

impl RabbitMq {
    /// Reads the settings, without connecting.
    ///
    /// # Errors
    /// [`BrokerError::Unfit`] where a URL or a file for TLS cannot be used; the text repeats nothing of either.
    pub fn new(settings: &RabbitMqSettings) -> Result<Self, BrokerError> {
        let addresses = Addresses::parse(&settings.name, &settings.urls)?;
        let tls = Tls::new(settings.tls.clone());
        if addresses.any_secure() {
            tls.load().map_err(|error| BrokerError::Unfit(addresses.first().undialled(&error).to_string()))?;
        }
        let management = settings.management.as_ref();
        let management = management.map(|url| Management::new(&settings.name, url)).transpose()?;
        let way = Arc::new(Way { addresses, tls });
        Ok(Self {
            consuming: Link::new(way.clone(), "consuming"),
            publisher: Publisher::new(Link::new(way, "publishing"), settings.confirm_timeout),
            declare: settings.declare,
            management,
            consumer_timeout: settings.consumer_timeout,
            origins: Origins::default(),
            depths: Depths::default(),
        })
    }
}

/// What fits into the time after which the broker takes a delivery back: half of it in all, for the rest belongs to an
/// outage at the end, and in one wait so much that several fit.
fn hold(consumer_timeout: Duration) -> HoldLimits {
    HoldLimits { max_retry_delay: consumer_timeout / 15, max_hold: consumer_timeout / 2 }
}

#[async_trait]
impl Broker for RabbitMq {
    fn capabilities(&self) -> Capabilities {
        let hold = hold(self.consumer_timeout);
        Capabilities {
            kind: "rabbitmq",
            max_retry_delay: hold.max_retry_delay,
            max_hold: hold.max_hold,
            tiers: true,
            answers_settles: false,
            partitions: false,
            tells_of_interruptions: false,
            remembers_starts: "a redelivered flag; quorum queues also count hand-overs, innocent prefetched ones \
                               included, so the host notes in its state folder what ran alone when it ended",
            order: "that of the queue; what is handed back goes near its place, or to the end of a quorum queue without a \
                    delivery limit",
            largest: "the node's `max_message_size`; all headers together, the negotiated frame",
            interruptions: "when `consumer_timeout` is over, or the connection is lost",
            keeps: Kept { keys: false, null_bodies: false, header_order: false, ..Kept::ALL },
        }
    }

    async fn prepare(&self, plan: &Plan) -> Result<Prepared, BrokerError> {
        let session = self.consuming.session().await?;
        // What is published needs the other connection: better to learn now that it cannot be had.
        let frame_max = self.publisher.session().await?.frame_max();
        let topology = Topology { session: &session, address: &session.address };
        let findings = preparation::prepare(&topology, self.management.as_ref(), plan, self.declare).await?;
        Ok(Prepared {
            requeue_is_safe: findings.requeue_is_safe,
            single_active_consumer: findings.single_active_consumer,
            max_header_bytes: Some(frame_max.saturating_sub(PROPERTIES_ROOM).max(frame_max / 2)),
            hold: findings.consumer_timeout.map(hold),
            remarks: findings.remarks,
        })
    }

    async fn consume(&self, plan: &Plan, prefetch: u16) -> Result<Box<dyn Consumer>, BrokerError> {
        let session = self.consuming.session().await?;
        Ok(Box::new(RabbitConsumer::start(session, &plan.source, prefetch).await?))
    }

    async fn publish(&self, target: &Target, message: &Message) -> Result<(), PublishError> {
        if let Target::Tier { back_to, .. } = target {
            let session = self.consuming.session().await.map_err(|error| PublishError::Outage(error.to_string()))?;
            self.origins.check(&Topology { session: &session, address: &session.address }, back_to).await?;
        }
        self.publisher.publish(target, message).await
    }

    async fn depth(&self, topic: &Topic) -> Result<Option<u64>, BrokerError> {
        match topic {
            Topic::Named(queue) => {
                let session = self.consuming.session().await?;
                self.depths.ask(&session, &session.address, queue).await.map(Some)
            }
            Topic::Exchange { .. } => Ok(None),
        }
    }

    async fn hand_back_limit(&self, queue: &str) -> Result<HandBackLimit, BrokerError> {
        let session = self.consuming.session().await?;
        let topology = Topology { session: &session, address: &session.address };
        preparation::hand_back_limit(&topology, self.management.as_ref(), queue).await
    }

    async fn close(&self) {
        tokio::join!(self.consuming.close(), self.publisher.close());
    }
}
