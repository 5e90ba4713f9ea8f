//! What every broker must do, and what a broker may do differently.
//!
//! * [`memory`]: bounded queues in this process, for tests, the demo and embedding.
//! * [`rabbitmq`]: AMQP 0-9-1.
//! * [`kafka`]: a partitioned log, consumed in a group.
//! * [`narad`]: leases over HTTP.
//!
//! A driver moves messages and settles deliveries. It knows nothing of attempts, policies or verdicts.

pub mod kafka;
mod login;
pub mod memory;
pub mod narad;
pub mod rabbitmq;
mod tls;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

pub use self::tls::TlsSettings;
use crate::message::Message;
use crate::topic::{Tier, Topic};

/// A broker that routes consume from and publish to. One value serves every route that names it.
#[async_trait]
pub trait Broker: Send + Sync + 'static {
    /// What this broker can and cannot do.
    fn capabilities(&self) -> Capabilities;

    /// Connects, checks or declares what the route needs, and says what was found. No message is touched before this succeeds.
    async fn prepare(&self, plan: &Plan) -> Result<Prepared, BrokerError>;

    /// Starts to take messages from the plan's source, at most `prefetch` unsettled at a time.
    async fn consume(&self, plan: &Plan, prefetch: u16) -> Result<Box<dyn Consumer>, BrokerError>;

    /// Publishes one message durably. `Ok` means confirmed, routed and kept (rule 2); anything else is an error.
    async fn publish(&self, target: &Target, message: &Message) -> Result<(), PublishError>;

    /// How many messages are ready on a topic. `None` where that cannot be told: an exchange keeps none itself.
    ///
    /// # Errors
    /// [`BrokerError::Unfit`] where there is no such queue.
    async fn depth(&self, topic: &Topic) -> Result<Option<u64>, BrokerError>;

    /// Reads what lies on `queue` now, for people who look at it or put it back. `None` where a message can only be seen by
    /// consuming it: it is handed back afterwards, then.
    async fn browse(&self, _queue: &str, _purpose: Browsing) -> Result<Option<Box<dyn Browser>>, BrokerError> {
        Ok(None)
    }

    /// How often a message may be handed back to `queue` before the broker takes it out.
    async fn hand_back_limit(&self, queue: &str) -> Result<HandBackLimit, BrokerError>;

    /// Ends connections, after the routes have drained. Unsettled deliveries go back to the broker.
    async fn close(&self);
}

/// A stream of deliveries from one source.
#[async_trait]
pub trait Consumer: Send {
    /// The next delivery. An error ends this consumer: its unsettled deliveries are lost to it and the
    /// route prepares and consumes anew. Dropping the future loses no delivery.
    async fn next(&mut self) -> Result<Delivery, BrokerError>;

    /// Cancelled when the deliveries of this consumer are lost, so that it is known while nobody waits for the next one.
    /// By default never.
    fn lost(&self) -> CancellationToken {
        CancellationToken::new()
    }

    /// A delivery that was handed back through this consumer and comes out again by it, where there is one now. Those come before
    /// others from [`Consumer::next`] as well. By default none: what goes back is the broker's.
    fn given_back(&mut self) -> Option<Delivery> {
        None
    }

    /// Takes no more messages; those that were delivered can still be settled. Prefetched messages that
    /// nobody has seen go back.
    async fn stop(&mut self);

    /// Returns once the broker knows of every settle, as far as it can be known, and leaves. Called once, after
    /// [`Consumer::stop`] and the last settle; a consumer that is dropped without it leaves its last settles in doubt.
    async fn close(&mut self) {}
}

/// What somebody browses for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Browsing {
    /// To look: nothing is settled, and nobody notices.
    Look,
    /// To take some away: what is acknowledged is not read again by whoever browses later, and nobody else takes it meanwhile.
    Take,
}

/// Reads each message that was on a queue when it began, once. What is not acknowledged stays as and where it is.
#[async_trait]
pub trait Browser: Send {
    /// How many messages there were at the start, at most.
    fn there(&self) -> u64;

    /// The next message; `None` after the last. An acknowledgement that was answered is kept. Dropping the future loses none.
    async fn next(&mut self) -> Result<Option<Delivery>, BrokerError>;

    /// Leaves. Called once, after the last acknowledgement.
    async fn close(&mut self);
}

/// One hand-over of a message, with the handle that settles it.
pub struct Delivery {
    /// The message.
    pub message: Arc<Message>,
    /// Where it came through.
    pub origin: Origin,
    /// The broker says that it handed this message over before.
    pub redelivered: bool,
    /// What else is known of earlier hand-overs.
    pub earlier: Earlier,
    /// Settles this delivery, on the channel, assignment or lease that it came on (rule 13).
    pub settler: Arc<dyn Settler>,
    /// Cancelled when this delivery can no longer be settled.
    pub lost: CancellationToken,
}

/// What a broker, or its driver here, remembers of earlier hand-overs of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Earlier {
    /// Nothing.
    #[default]
    Nothing,
    /// It was in work when the host that had it ended without order.
    UnderWay {
        /// Attempts that are known to have ended so, the host's end included; at least 1.
        interruptions: u32,
    },
    /// The host that had it ended without order, and whether it was in work then is not known.
    InDoubt,
    /// Its outcome is durable already; only the settle was lost (rule 13).
    Done,
}

/// How a message reached its source, as far as the broker says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Origin {
    /// The exchange that it was published to, where the broker has such a thing.
    pub exchange: Option<String>,
    /// The routing key that it was published with.
    pub routing_key: Option<String>,
    /// Where it stands in a log, where the broker keeps one.
    // Boxed: deliveries sleep in their tens of thousands, and those of most brokers have none.
    pub position: Option<Box<Position>>,
}

/// A record's place in a partitioned log.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Position {
    /// The topic that it was read from.
    pub topic: Arc<str>,
    /// The topic's partition, from 0.
    pub partition: i32,
    /// The record's number in its partition, from 0.
    pub offset: i64,
    /// The consumer group that read it.
    pub group: Arc<str>,
}

impl Position {
    /// Whether the other place is in the same partition, and later.
    #[must_use]
    pub fn is_before(&self, other: &Self) -> bool {
        self.topic == other.topic && self.partition == other.partition && self.offset < other.offset
    }
}

/// Settles one delivery, once.
#[async_trait]
pub trait Settler: Send + Sync {
    /// Tells the broker. `Gone` means that the delivery is the broker's again and will come back.
    async fn settle(&self, settlement: Settlement) -> Result<(), SettleError>;

    /// An attempt begins. For a broker that can remember which were under way.
    fn attempt_begins(&self) {}

    /// The attempt that was begun has ended, or was given up.
    fn attempt_ends(&self) {}

    /// Has the broker keep, for whoever gets the message next, that so many attempts on it ended without a result, should
    /// nothing more be heard from here, and that the attempt which was begun runs. Returns once it is kept. By default brokers keep
    /// nothing.
    ///
    /// # Errors
    /// It may not be kept.
    async fn note_interruptions(&self, _count: u32) -> Result<(), SettleError> {
        Ok(())
    }
}

/// What a broker can be told of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settlement {
    /// Done: its outcome is durable.
    Ack,
    /// Give it back as failed (RabbitMQ: reject with requeue).
    Reject,
    /// Give it back untouched: not processed, not failed (RabbitMQ: nack with requeue).
    Release,
}

/// Where a message is published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A topic of the configuration.
    Topic(Topic),
    /// A durable delay, after which the message is on the queue `back_to`.
    Tier {
        /// Which delay.
        tier: Tier,
        /// The route whose message it is.
        route: String,
        /// The queue that the message returns to.
        back_to: String,
    },
}

/// The topic's name, or `tier 30s back to orders`.
impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Topic(topic) => topic.fmt(f),
            Self::Tier { tier, back_to, .. } => write!(f, "tier {} back to {back_to}", tier.name),
        }
    }
}

/// What a route needs of its broker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The route's name, for messages.
    pub route: String,
    /// The queue to consume.
    pub source: String,
    /// The consumer group to consume it in, where the broker has such a thing; by default one of the route's own.
    pub group: Option<String>,
    /// The delays that the route may use.
    pub tiers: Vec<Tier>,
    /// Every topic that the route may publish to.
    pub topics: Vec<Topic>,
    /// Topics that messages are put back on, having been there before: how those keep what is theirs is their affair.
    pub origins: Vec<Topic>,
    /// The header by which a delayed copy tells when it is due.
    pub due_header: String,
}

impl Plan {
    /// A route that consumes and publishes nowhere.
    #[must_use]
    pub fn new(route: &str, source: &str) -> Self {
        Self {
            route: route.to_owned(),
            source: source.to_owned(),
            group: None,
            tiers: Vec::new(),
            topics: Vec::new(),
            origins: Vec::new(),
            due_header: "reprieve-due".to_owned(),
        }
    }
}

/// What preparing found out about a route's source and connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepared {
    /// Handing a delivery back any number of times cannot make the broker throw it away.
    pub requeue_is_safe: bool,
    /// The source is handed to one consumer at a time; `None` where that cannot be told.
    pub single_active_consumer: Option<bool>,
    /// The bytes that all headers of one message may take, from the negotiated frame size.
    pub max_header_bytes: Option<usize>,
    /// What holds for this source in place of [`Capabilities`], where the broker says something else of it.
    pub hold: Option<HoldLimits>,
    /// Things that the operator should know: what is doubtful, what could not be checked.
    pub remarks: Vec<String>,
}

/// How long deliveries of one source may be held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HoldLimits {
    /// As [`Capabilities::max_retry_delay`].
    pub max_retry_delay: Duration,
    /// As [`Capabilities::max_hold`].
    pub max_hold: Duration,
}

/// How often a queue takes a message back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HandBackLimit {
    /// As often as it is handed back.
    None,
    /// So often; the next time the broker takes the message out.
    Times(u64),
    /// Nobody could tell.
    Unknown {
        /// It is not more than this, where that much is known.
        at_most: Option<u64>,
        /// Why it is not known, or what would make it known.
        why: String,
    },
}

/// The differences between brokers that the rest of the host may see (rule 16).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    /// The configuration's `kind`.
    pub kind: &'static str,
    /// The longest that a delivery may be held by a retry in process.
    pub max_retry_delay: Duration,
    /// The longest that a delivery may be held in all before the broker takes it back, with a margin.
    pub max_hold: Duration,
    /// It can bring messages back after a delay.
    pub tiers: bool,
    /// It answers a settle, so that a failed one is known (rule 15).
    pub answers_settles: bool,
    /// Its messages stand in partitions, so that ordering can go by those.
    pub partitions: bool,
    /// It may tell of a delivery that another host had it in work when that ended ([`Earlier::UnderWay`], [`Earlier::InDoubt`]).
    pub tells_of_interruptions: bool,
    /// What it can remember of starts since the last copy, in a sentence for people (rule 9).
    pub remembers_starts: &'static str,
    /// In which order messages come, in a sentence for people.
    pub order: &'static str,
    /// How large a message may be, its headers included, in a sentence for people.
    pub largest: &'static str,
    /// When it takes a running delivery back, in a sentence for people (rule 3).
    pub interruptions: &'static str,
    /// What of a message comes out as it went in.
    pub keeps: Kept,
}

/// What a broker keeps of a message beside what each does: the id, the bytes of a body, the content type, and headers by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    /// The key; otherwise there is none.
    pub keys: bool,
    /// A null body; otherwise it becomes an empty one.
    pub null_bodies: bool,
    /// The types of headers; otherwise their values become bytes, numbers and texts as people read them.
    pub header_types: bool,
    /// The order of headers, and each of several of one name; otherwise the last of a name, sorted.
    pub header_order: bool,
    /// All properties; otherwise none but the content type, which then stands among the headers, as the id does.
    pub properties: bool,
    /// The sender's timestamp; otherwise a message is as old as its copy.
    pub timestamps: bool,
}

impl Kept {
    /// Everything.
    pub const ALL: Self = Self {
        keys: true,
        null_bodies: true,
        header_types: true,
        header_order: true,
        properties: true,
        timestamps: true,
    };
}

/// Why a route's broker cannot serve it now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BrokerError {
    /// No connection; it may come back by itself.
    #[error("cannot reach {broker}: {reason}")]
    Unreachable {
        /// The broker's address, without secrets.
        broker: String,
        /// What the network or the broker said.
        reason: String,
    },
    /// Something that the route needs is missing or made otherwise. The text says what and the cure.
    #[error("{0}")]
    Unfit(String),
    /// The connection, channel or consumer ended.
    #[error("lost the consumer of {source_topic}: {reason}")]
    Lost {
        /// The queue that was consumed.
        source_topic: String,
        /// What the broker said.
        reason: String,
    },
}

/// Why a publish does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PublishError {
    /// Nothing would get through now: no connection, no confirm in time, the target missing or full. Concerns the route.
    #[error("{0}")]
    Outage(String),
    /// This message would not get through at any time. Concerns the message.
    #[error("refused: {0}")]
    Refused(String),
    /// This message or its headers are too large. Concerns the message; a smaller copy may pass.
    #[error("too large: {0}")]
    TooLarge(String),
}

impl PublishError {
    /// The class, for metrics and traces.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Outage(_) => "outage",
            Self::Refused(_) => "refused",
            Self::TooLarge(_) => "too-large",
        }
    }
}

/// Why a settle does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettleError {
    /// The channel, assignment or lease that the delivery belongs to has ended.
    #[error("the delivery is no longer ours: {0}")]
    Gone(String),
    /// The broker did not take it, and may later (never from RabbitMQ, which does not answer).
    #[error("not settled: {0}")]
    Retry(String),
    /// It cannot be given back: as many messages behind it as may be are decided already (rule 14).
    #[error("no room to give it back: {0}")]
    NoRoom(String),
}
