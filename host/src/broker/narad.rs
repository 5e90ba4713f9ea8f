//! Narad, over HTTP.
//!
//! * `nodes`: how the cluster is asked. `preparation`, with `topics` and `tiers`: what must be there before a route
//!   starts.
//! * `consumer`: messages and their leases. `leases`: kept until they are settled. `settler`, `acks`: the end of a lease.
//! * `publisher`: accepted, or an error. `envelope`: what a message has beside its payload. `record`: what a node answers.
//! * `browser`, `depth`: looking at a topic. `seen`: what was handed over before.

mod acks;
mod browser;
mod consumer;
mod depth;
mod envelope;
mod leases;
mod members;
mod nodes;
mod payload;
mod preparation;
mod publisher;
mod record;
mod seen;
mod settings;
mod settler;
mod tiers;
mod topics;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;

use self::browser::{Look, Take};
use self::consumer::{Forwarder, Handle, NaradConsumer, Source};
use self::nodes::Nodes;
use self::publisher::Publisher;
use self::seen::Seen;
pub use self::settings::{Envelope, NaradSettings};
use self::topics::{TopicFacts, existing};
use crate::broker::{
    Broker, BrokerError, Browser, Browsing, Capabilities, Consumer, HandBackLimit, Kept, Plan, Prepared, PublishError,
    Target,
};
use crate::message::Message;
use crate::timestamp::Timestamp;
use crate::topic::Topic;

/// A lease can be renewed for ever. But a partition hands nothing new out once 1,024 messages above its oldest open one are
/// settled, so no message is held for long.
const MAX_RETRY_DELAY: Duration = Duration::from_secs(2 * 60);
const MAX_HOLD: Duration = Duration::from_secs(15 * 60);
/// Messages of a source that are asked for at once. Each counts, for as long as the request waits, as one of the 1,024 consumes that a
/// node allows a user.
const SOURCE_BATCH: usize = 32;
/// What comes out of a tier is asked for by so many: requests for other topics go on beside it.
const TIER_BATCH: usize = 1;

/// A Narad cluster. It is asked when something is needed, and keeps no connection that matters.
pub struct Narad {
    nodes: Arc<Nodes>,
    settings: Arc<NaradSettings>,
    seen: Arc<Seen>,
    /// The consumers that are open, and some that were.
    consumers: Mutex<Vec<Handle>>,
}

impl Narad {
    /// Reads the settings, without connecting.
    ///
    /// # Errors
    /// [`BrokerError::Unfit`] where an address or a file for TLS cannot be used; the text repeats nothing of either.
    pub fn new(settings: NaradSettings) -> Result<Self, BrokerError> {
        let nodes = Arc::new(Nodes::new(&settings)?);
        Ok(Self {
            nodes,
            settings: Arc::new(settings),
            seen: Arc::new(Seen::new(Timestamp::now())),
            consumers: Mutex::default(),
        })
    }

    fn consumer(&self, sources: Vec<Source>, prefetch: u16) -> NaradConsumer {
        let forwarder = Forwarder { nodes: Arc::clone(&self.nodes), settings: Arc::clone(&self.settings) };
        let consumer =
            NaradConsumer::start(Arc::clone(&self.nodes), sources, prefetch, forwarder, Arc::clone(&self.seen));
        let mut consumers = self.consumers.lock().unwrap_or_else(PoisonError::into_inner);
        consumers.retain(|consumer| !consumer.is_gone());
        consumers.push(consumer.handle());
        drop(consumers);
        consumer
    }

    fn source(&self, topic: &str, facts: &TopicFacts, form: Envelope, batch: usize) -> Source {
        Source { topic: topic.into(), form, visibility: facts.visibility(), batch }
    }
}

#[async_trait]
impl Broker for Narad {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            kind: "narad",
            max_retry_delay: MAX_RETRY_DELAY,
            max_hold: MAX_HOLD,
            tiers: true,
            answers_settles: true,
            partitions: false,
            tells_of_interruptions: false,
            remembers_starts: "nothing by itself; the host knows by its place a message that it had in hand (the last 65,536), until it ends",
            order: "none is promised",
            largest: "1 MiB, the envelope included",
            interruptions: "when its lease runs out or is gone",
            keeps: Kept { timestamps: false, ..Kept::ALL },
        }
    }

    async fn prepare(&self, plan: &Plan) -> Result<Prepared, BrokerError> {
        preparation::prepare(&self.nodes, &self.settings, plan).await
    }

    async fn consume(&self, plan: &Plan, prefetch: u16) -> Result<Box<dyn Consumer>, BrokerError> {
        let facts = existing(&self.nodes, &plan.source).await?;
        let form = self.settings.envelope(&plan.source).clone();
        let mut sources = vec![self.source(&plan.source, &facts, form, SOURCE_BATCH)];
        let old = tiers::left_behind(&self.nodes, &plan.route, &plan.tiers).await?;
        for tier in plan.tiers.iter().map(|tier| &tier.name).chain(&old) {
            let child = tiers::child(&plan.route, tier);
            let facts = existing(&self.nodes, &child).await?;
            sources.push(self.source(&child, &facts, Envelope::Ours, TIER_BATCH));
        }
        Ok(Box::new(self.consumer(sources, prefetch)))
    }

    async fn publish(&self, target: &Target, message: &Message) -> Result<(), PublishError> {
        let (prefixes, timeout) = (&self.settings.header_prefixes, self.settings.publish_timeout);
        let publisher = Publisher { nodes: &self.nodes, prefixes, timeout };
        match target {
            Target::Topic(Topic::Named(name)) => {
                publisher.publish(name, message, None, self.settings.envelope(name)).await
            }
            Target::Topic(topic @ Topic::Exchange { .. }) => Err(PublishError::Outage(no_exchanges(topic))),
            // Nobody else reads these topics.
            Target::Tier { tier, route, back_to } => {
                let parent = tiers::parent(route, &tier.name);
                publisher.publish(&parent, message, Some(back_to), &Envelope::Ours).await
            }
        }
    }

    /// What is not settled, so also what is in somebody's hands, as of some seconds ago. Known where every node shows its metrics
    /// on the address that it is configured with.
    async fn depth(&self, topic: &Topic) -> Result<Option<u64>, BrokerError> {
        let Topic::Named(name) = topic else { return Ok(None) };
        let facts = existing(&self.nodes, name).await?;
        let lag = depth::lag(&self.nodes, name).await;
        // A partition that no node speaks of is on one that is not configured, or too young to be counted.
        let whole = lag.filter(|lag| (0..facts.partitions).all(|partition| lag.contains_key(&partition)));
        Ok(whole.map(|lag| lag.into_values().sum()))
    }

    async fn browse(&self, queue: &str, purpose: Browsing) -> Result<Option<Box<dyn Browser>>, BrokerError> {
        let form = self.settings.envelope(queue).clone();
        let look = Look::begin(Arc::clone(&self.nodes), queue, form.clone()).await?;
        Ok(Some(match purpose {
            Browsing::Look => Box::new(look),
            Browsing::Take => {
                let facts = existing(&self.nodes, queue).await?;
                let source = self.source(queue, &facts, form, SOURCE_BATCH);
                Box::new(Take { consumer: self.consumer(vec![source], Take::PREFETCH), there: look.there() })
            }
        }))
    }

    /// None: a message comes back for as long as it is not acknowledged, until its topic's retention is over.
    async fn hand_back_limit(&self, _queue: &str) -> Result<HandBackLimit, BrokerError> {
        Ok(HandBackLimit::None)
    }

    async fn close(&self) {
        let consumers = std::mem::take(&mut *self.consumers.lock().unwrap_or_else(PoisonError::into_inner));
        futures_util::future::join_all(consumers.iter().map(Handle::end)).await;
    }
}

fn no_exchanges(topic: &Topic) -> String {
    format!("Narad has no exchanges, so nothing can be published to {topic}; name a topic instead")
}
