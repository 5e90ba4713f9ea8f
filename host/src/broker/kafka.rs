//! Apache Kafka, through librdkafka.
//!
//! * `settings`: how to reach it. `group`, `tiers`: what groups and the topics of delays are called.
//! * `topics`: what must be there before a route starts. `cluster`: what a cluster is asked beside the records.
//! * `consumer`: takes records, and commits what is decided.
//! * `publisher`: confirmed by every replica in sync, or an error.
//! * `browser`: reads dead letters without taking them away, and remembers which were put back.
//! * `convert`: records to messages and back. `log`: librdkafka's own log, among the host's.
//! * `off_runtime`: ends the library's clients where waiting is allowed.

mod browser;
mod cluster;
mod consumer;
mod convert;
mod group;
mod log;
mod off_runtime;
mod publisher;
mod settings;
mod tiers;
mod topics;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::join_all;
use rdkafka::consumer::BaseConsumer;
use rdkafka::error::KafkaError;
use rdkafka::producer::BaseProducer;
use tokio::sync::Mutex;

use self::browser::KafkaBrowser;
use self::cluster::{Cluster, unfit_settings};
use self::consumer::{End, KafkaConsumer, Remembered, bound_read_ahead, partitions};
use self::off_runtime::OffRuntime;
use self::publisher::Publisher;
pub(crate) use self::settings::NAMES as SETTING_NAMES;
pub use self::settings::{KafkaSettings, SettingProblem, check_setting};
use crate::broker::{
    Broker, BrokerError, Browser, Browsing, Capabilities, Consumer, HandBackLimit, Kept, Plan, Prepared, PublishError,
    Target,
};
use crate::message::Message;
use crate::topic::Topic;

/// Whether Kafka lets a topic have this name.
pub(crate) fn is_topic_name(name: &str) -> bool {
    topics::check_name(name).is_ok()
}

/// A Kafka cluster. It connects when it is first needed.
pub struct Kafka {
    settings: KafkaSettings,
    publisher: Arc<Publisher>,
    remembered: Arc<Remembered>,
    /// By the group that they are asked for.
    clusters: Mutex<HashMap<String, Cluster>>,
    consumers: Mutex<Vec<End>>,
}

impl Kafka {
    /// Reads the settings, without connecting.
    ///
    /// # Errors
    /// [`BrokerError::Unfit`] where librdkafka does not take them all together: a file that cannot be read, a user name that is
    /// missing. The text repeats no values.
    pub fn new(settings: &KafkaSettings) -> Result<Self, BrokerError> {
        // Clients without an address, since only making one shows what depends on several settings.
        let mut config = settings.unconnected_config();
        config.set("enable.idempotence", "true");
        let producer = config.create::<BaseProducer>().map(OffRuntime::new);
        let made = producer.and_then(|_| config.create::<BaseConsumer>().map(OffRuntime::new));
        made.map_err(|error: KafkaError| unfit_settings(&settings.name, &error))?;
        Ok(Self {
            settings: settings.clone(),
            publisher: Arc::new(Publisher::new(settings)),
            remembered: Arc::default(),
            clusters: Mutex::default(),
            consumers: Mutex::default(),
        })
    }

    async fn cluster(&self, group: &str) -> Result<Cluster, BrokerError> {
        let mut clusters = self.clusters.lock().await;
        if let Some(cluster) = clusters.get(group) {
            return Ok(cluster.clone());
        }
        let cluster = Cluster::new(&self.settings, group)?;
        clusters.insert(group.to_owned(), cluster.clone());
        Ok(cluster)
    }
}

#[async_trait]
impl Broker for Kafka {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            kind: "kafka",
            // Partitions that wait are asked for all the same; the rest is for what a wait is followed by.
            max_retry_delay: self.settings.max_poll_interval() / 2,
            max_hold: Duration::MAX,
            tiers: true,
            answers_settles: true,
            partitions: true,
            tells_of_interruptions: true,
            remembers_starts: "after an end without order, which records were in work, from the metadata of the last commit: they \
                               run alone; of those that may have been, each attempt is committed before it begins",
            order: "that of a partition; what is handed back comes again from the host's own window",
            largest: "the topic's `max.message.bytes`",
            interruptions: "when its partition goes to another host, or the poll interval is over",
            keeps: Kept { header_types: false, properties: false, timestamps: false, ..Kept::ALL },
        }
    }

    async fn prepare(&self, plan: &Plan) -> Result<Prepared, BrokerError> {
        let cluster = self.cluster(&group::of_route(plan)).await?;
        let findings = topics::prepare(&cluster, &self.settings, plan).await?;
        Ok(Prepared {
            requeue_is_safe: true,
            // A partition is consumed by one member of the group, and a key stays on its partition.
            single_active_consumer: Some(true),
            // The other half is for key and body; a copy that is still too large gets fewer headers.
            max_header_bytes: findings.max_message_bytes.map(|bytes| bytes / 2),
            hold: None,
            remarks: findings.remarks,
        })
    }

    async fn consume(&self, plan: &Plan, prefetch: u16) -> Result<Box<dyn Consumer>, BrokerError> {
        let (remembered, publisher) = (Arc::clone(&self.remembered), Arc::clone(&self.publisher));
        let cluster = self.cluster(&group::of_route(plan)).await?;
        let settings = bound_read_ahead(&self.settings, partitions(&cluster, plan).await?);
        let consumer = KafkaConsumer::start(&settings, plan, prefetch, remembered, publisher)?;
        let mut consumers = self.consumers.lock().await;
        consumers.retain(|consumer| !consumer.is_over());
        consumers.push(consumer.end());
        Ok(Box::new(consumer))
    }

    async fn publish(&self, target: &Target, message: &Message) -> Result<(), PublishError> {
        self.publisher.publish(target, message).await
    }

    /// The records that were not put back by a redrive and are still there.
    async fn depth(&self, topic: &Topic) -> Result<Option<u64>, BrokerError> {
        let Topic::Named(topic) = topic else { return Ok(None) };
        let cluster = self.cluster(&group::of_redrive(topic)).await?;
        browser::depth(&cluster, &self.settings.name, topic).await.map(Some)
    }

    async fn browse(&self, queue: &str, purpose: Browsing) -> Result<Option<Box<dyn Browser>>, BrokerError> {
        let cluster = self.cluster(&group::of_redrive(queue)).await?;
        Ok(Some(Box::new(KafkaBrowser::start(&self.settings, &cluster, queue, purpose).await?)))
    }

    /// None: a record stays where it is.
    async fn hand_back_limit(&self, _queue: &str) -> Result<HandBackLimit, BrokerError> {
        Ok(HandBackLimit::None)
    }

    async fn close(&self) {
        let consumers = std::mem::take(&mut *self.consumers.lock().await);
        join_all(consumers.into_iter().map(|consumer| consumer.leave(&self.settings.name))).await;
        self.publisher.close().await;
        let clusters = std::mem::take(&mut *self.clusters.lock().await);
        // The library waits for its threads.
        if let Err(error) = tokio::task::spawn_blocking(|| clusters.into_values().for_each(Cluster::end)).await {
            tracing::warn!(%error, broker = %self.settings.name, "could not close the connections");
        }
    }
}
