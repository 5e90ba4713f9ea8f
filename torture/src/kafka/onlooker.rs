//! What the broker says of the group and of the topics, asked past every host. The group is not joined by that.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::types::RDKafkaErrorCode;
use rdkafka::{Offset, TopicPartitionList};
use tokio::task::spawn_blocking;

use super::topics::{GROUP, client};

/// An answer that takes longer is asked for again.
const ANSWER: Duration = Duration::from_secs(2);

/// By topic and partition.
pub(super) type Offsets = BTreeMap<(&'static str, i32), i64>;

/// A client that asks.
pub(super) struct Onlooker {
    client: Arc<BaseConsumer>,
}

impl Onlooker {
    pub(super) fn new(server: &str) -> Result<Self> {
        let mut config = client(server);
        config.set("group.id", GROUP).set("enable.auto.commit", "false");
        let client = config.create().context("cannot make a client for Kafka")?;
        Ok(Self { client: Arc::new(client) })
    }

    /// The offsets that the group has committed on these topics: of the next record, where there is a commit.
    pub(super) async fn committed(&self, topics: &'static [&'static str]) -> Result<Offsets> {
        self.ask(move |client| {
            let mut committed = Offsets::new();
            for topic in topics {
                let mut wanted = TopicPartitionList::new();
                let partitions = partitions(client, topic)?;
                ensure!(partitions > 0, "there is no topic {topic} now");
                wanted.add_partition_range(topic, 0, partitions - 1);
                let answer = client.committed_offsets(wanted, ANSWER)?;
                for place in answer.elements() {
                    place.error()?;
                    if let Offset::Offset(offset) = place.offset() {
                        committed.insert((topic, place.partition()), offset);
                    }
                }
            }
            Ok(committed)
        })
        .await
    }

    /// The offset behind the last record of each partition; of none where there is no such topic.
    pub(super) async fn ends(&self, topic: &'static str) -> Result<Offsets> {
        self.ask(move |client| {
            let end = |partition| Ok(((topic, partition), client.fetch_watermarks(topic, partition, ANSWER)?.1));
            (0..partitions(client, topic)?).map(end).collect()
        })
        .await
    }

    /// How many members the group has, once each has its partitions.
    pub(super) async fn members(&self) -> Result<usize> {
        self.ask(|client| {
            let groups = client.fetch_group_list(Some(GROUP), ANSWER)?;
            let settled = groups.groups().iter().filter(|group| group.state() == "Stable");
            Ok(settled.map(|group| group.members().len()).sum())
        })
        .await
    }

    async fn ask<T: Send + 'static>(&self, ask: impl FnOnce(&BaseConsumer) -> Result<T> + Send + 'static) -> Result<T> {
        let client = Arc::clone(&self.client);
        let asked = spawn_blocking(move || {
            // What it has to say of lost connections.
            while client.poll(Duration::ZERO).is_some() {}
            ask(&client)
        });
        asked.await.context("who asks Kafka ended badly")?
    }
}

/// None where there is no such topic.
fn partitions(client: &BaseConsumer, topic: &str) -> Result<i32> {
    let metadata = client.fetch_metadata(Some(topic), ANSWER)?;
    let found = metadata.topics().first().context("the broker says nothing of a topic")?;
    match found.error().map(RDKafkaErrorCode::from) {
        None => Ok(i32::try_from(found.partitions().len())?),
        Some(RDKafkaErrorCode::UnknownTopicOrPartition | RDKafkaErrorCode::UnknownTopic) => Ok(0),
        Some(error) => Err(error.into()),
    }
}
