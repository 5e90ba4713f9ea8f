//! The topics of a run, and making, altering and deleting them.

use anyhow::{Context as _, Result};
use rdkafka::ClientConfig;
use rdkafka::admin::{
    AdminClient, AdminOptions, AlterConfig, NewTopic, ResourceSpecifier, TopicReplication, TopicResult,
};
use rdkafka::client::DefaultClientContext;
use rdkafka::types::RDKafkaErrorCode;

use crate::within::PATIENCE;

/// What the hosts consume, in this group.
pub(super) const SOURCE: &str = "torture.orders";
pub(super) const GROUP: &str = "torture";
pub(super) const PARTITIONS: i32 = 6;
/// The dead letters without a label: fewer partitions than the source has, and not for every record that it takes.
pub(super) const DEAD: &str = "torture.dead";
const DEAD_PARTITIONS: i32 = 2;
/// A large body passes here only with short headers.
pub(super) const DEAD_LARGEST: &str = "16384";
/// The dead letters that are labelled `invalid`.
pub(super) const INVALID: &str = "torture.invalid";
/// What hosts make for the tiers of the route.
const TIERS: [&str; 2] = ["reprieve.tier.orders.1s", "reprieve.tier.orders.3s"];
/// On which the group commits how far it is.
pub(super) const COMMITTED: [&str; 3] = [SOURCE, TIERS[0], TIERS[1]];
pub(super) const DEAD_TOPICS: [&str; 2] = [DEAD, INVALID];
pub(super) const TOPICS: [&str; 5] = [SOURCE, TIERS[0], TIERS[1], DEAD, INVALID];

const LARGEST: &str = "max.message.bytes";
/// What a broker takes where nobody says otherwise.
const USUAL_LARGEST: &str = "1048588";
/// Copies are put in order by the broker's clock.
const TIMESTAMPS: (&str, &str) = ("message.timestamp.type", "LogAppendTime");

/// The rig's own way to the controller.
pub(super) struct Admin {
    client: AdminClient<DefaultClientContext>,
}

impl Admin {
    pub(super) fn new(server: &str) -> Result<Self> {
        let client = client(server).create().context("cannot make a client for Kafka")?;
        Ok(Self { client })
    }

    /// Makes everything but what hosts make themselves.
    pub(super) async fn create_all(&self) -> Result<()> {
        self.create(SOURCE, PARTITIONS, &[]).await?;
        self.create(DEAD, DEAD_PARTITIONS, &[(LARGEST, DEAD_LARGEST)]).await?;
        self.create_invalid().await
    }

    /// Makes the topic where it is not there.
    pub(super) async fn create_invalid(&self) -> Result<()> {
        self.create(INVALID, 1, &[(LARGEST, USUAL_LARGEST)]).await?;
        // Also where a host has made it, and whatever is known of the one before.
        self.limit(INVALID, USUAL_LARGEST).await
    }

    /// Deletes the topic, whatever is on it.
    pub(super) async fn delete_invalid(&self) -> Result<()> {
        let deleted = self.client.delete_topics(&[INVALID], &options()).await;
        answer(deleted.map(|answers| answers.into_iter().map(|answer| answer.map(drop).map_err(|error| error.1))))
            .with_context(|| format!("cannot delete topic {INVALID}"))
    }

    /// Lets a topic take records of at most so many bytes, as they lie on the disk with what is around them. Altering sets
    /// every setting of a topic, also those that are not named.
    pub(super) async fn limit(&self, topic: &str, largest: &str) -> Result<()> {
        let wanted = AlterConfig::new(ResourceSpecifier::Topic(topic)).set(LARGEST, largest);
        let wanted = wanted.set(TIMESTAMPS.0, TIMESTAMPS.1);
        let altered = self.client.alter_configs([&wanted], &options()).await;
        answer(altered.map(|answers| answers.into_iter().map(|answer| answer.map(drop).map_err(|error| error.1))))
            .with_context(|| format!("cannot alter topic {topic}"))
    }

    async fn create(&self, name: &str, partitions: i32, settings: &[(&str, &str)]) -> Result<()> {
        let mut topic = NewTopic::new(name, partitions, TopicReplication::Fixed(1));
        for (name, value) in settings {
            topic = topic.set(name, value);
        }
        let topic = topic.set(TIMESTAMPS.0, TIMESTAMPS.1);
        let created = self.client.create_topics([&topic], &options()).await;
        let is_there = |error: &RDKafkaErrorCode| *error == RDKafkaErrorCode::TopicAlreadyExists;
        let made = |answer: TopicResult| match answer.map_err(|(_, error)| error) {
            Err(error) if !is_there(&error) => Err(error),
            _ => Ok(()),
        };
        answer(created.map(|answers| answers.into_iter().map(made)))
            .with_context(|| format!("cannot make topic {name}"))
    }
}

/// What every client of the rig begins with: straight to the broker, and there again soon after it is.
pub(super) fn client(server: &str) -> ClientConfig {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", server).set("client.id", "torture");
    config.set("reconnect.backoff.ms", "50").set("reconnect.backoff.max.ms", "500");
    config
}

fn options() -> AdminOptions {
    AdminOptions::new().request_timeout(Some(PATIENCE / 3)).operation_timeout(Some(PATIENCE / 3))
}

/// The first error of all.
fn answer<E: Into<anyhow::Error>>(
    answers: Result<impl Iterator<Item = Result<(), RDKafkaErrorCode>>, E>,
) -> Result<()> {
    answers.map_err(Into::into)?.collect::<Result<(), _>>().map_err(Into::into)
}
