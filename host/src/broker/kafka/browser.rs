//! Reads what is on a topic, and remembers what was taken from it.
//!
//! A record cannot be taken off its topic. So what was taken is remembered as a group's position, and what lies behind the
//! first record that stays in the metadata of that position. Whoever takes is the group's only member; whoever looks joins
//! none and commits nothing.
//!
//! * `client`: the reading client, alone in its group or in none. `passed`: what was taken of a partition, and how that is written. `taken`: the handle that commits it. `watch`: what
//!   the client library says meanwhile.

mod client;
mod passed;
mod taken;
mod watch;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rdkafka::Message as _;
use rdkafka::error::KafkaError;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use self::client::{Client, lost_reader, taken_by_another};
use self::passed::Passed;
use self::taken::Taken;
use self::watch::Watch;
use super::cluster::{Cluster, Found, unfit_settings};
use super::off_runtime::OffRuntime;
use super::{KafkaSettings, convert, group, topics};
use crate::broker::{BrokerError, Browser, Browsing, Delivery, Earlier, Origin, Position};

/// How long the next record may take to come.
const PATIENCE: Duration = Duration::from_secs(30);

/// Reads a topic from the first record that was not taken to the last that was there when it began.
pub(super) struct KafkaBrowser {
    broker: String,
    topic: Arc<str>,
    group: Arc<str>,
    purpose: Browsing,
    /// `None` once it is closed.
    client: Option<Arc<Client>>,
    taken: Arc<Taken>,
    partitions: Vec<Partition>,
    there: u64,
}

/// How far one partition is read.
struct Partition {
    /// The next record that is looked for; those below it that did not come are not there.
    next: i64,
    /// Behind the last record that is looked for.
    end: i64,
}

impl Partition {
    const fn is_read(&self) -> bool {
        self.next >= self.end
    }
}

impl KafkaBrowser {
    pub(super) async fn start(
        settings: &KafkaSettings,
        cluster: &Cluster,
        topic: &str,
        purpose: Browsing,
    ) -> Result<Self, BrokerError> {
        let broker = &settings.name;
        let found = look_for(cluster, broker, topic).await?;
        let group = group::of_redrive(topic);
        let lost = CancellationToken::new();
        let watch = Watch::new(broker, lost.clone());
        let assigned = watch.assigned();
        let config = client::config(settings, &group);
        let client = config.create_with_context(watch).map_err(|error| unfit_settings(broker, &error))?;
        let client: Client = OffRuntime::new(client);
        if purpose == Browsing::Take {
            if cluster.members(&group).await? > 0 {
                return Err(taken_by_another(topic));
            }
            client::join(&client, &assigned, topic, found.partitions, broker).await?;
        }
        // Only now, when nobody else can move them.
        let read = passed(cluster, topic, found.partitions).await?;
        let there = read.iter().map(|(passed, end)| passed.left(*end)).sum();
        let partitions: Vec<_> =
            read.iter().map(|(passed, end)| Partition { next: passed.position(), end: *end }).collect();
        let places: Vec<i64> = partitions.iter().map(|partition| partition.next).collect();
        client::begin(&client, topic, &places, purpose).map_err(|error| lost_reader(topic, &error))?;
        let client = Arc::new(client);
        let passed = read.into_iter().map(|(passed, _)| passed).collect();
        let taken = Arc::new(Taken::new(Arc::clone(&client), topic, passed, lost));
        Ok(Self {
            broker: broker.clone(),
            topic: topic.into(),
            group: group.into(),
            purpose,
            client: Some(client),
            taken,
            partitions,
            there,
        })
    }

    fn is_read(&self) -> bool {
        self.partitions.iter().all(Partition::is_read)
    }

    fn partition(&mut self, number: i32) -> Option<&mut Partition> {
        self.partitions.get_mut(usize::try_from(number).ok()?)
    }

    /// The record as a delivery, where it is one that is looked for.
    fn delivery(&mut self, record: rdkafka::message::OwnedMessage) -> Option<Delivery> {
        let (number, offset) = (record.partition(), record.offset());
        let partition = self.partition(number)?;
        if offset >= partition.end {
            partition.next = partition.end;
            return None;
        }
        let absent = partition.next..offset;
        partition.next = partition.next.max(offset + 1);
        if !self.taken.look(number, absent, offset) {
            return None;
        }
        let position =
            Position { topic: Arc::clone(&self.topic), partition: number, offset, group: Arc::clone(&self.group) };
        let message = Arc::new(convert::message(&record, &position));
        Some(Delivery {
            message,
            origin: Origin { position: Some(Box::new(position)), ..Origin::default() },
            redelivered: false,
            earlier: Earlier::Nothing,
            settler: Taken::settler(&self.taken, number, offset, self.purpose),
            lost: self.taken.lost(),
        })
    }
}

#[async_trait]
impl Browser for KafkaBrowser {
    fn there(&self) -> u64 {
        self.there
    }

    async fn next(&mut self) -> Result<Option<Delivery>, BrokerError> {
        while !self.is_read() {
            if self.purpose == Browsing::Take {
                self.taken.room()?;
            }
            let Some(client) = self.client.clone() else { return Ok(None) };
            let record = match timeout(PATIENCE, client.recv()).await {
                Ok(record) => record.map(|record| record.detach()),
                Err(_) => {
                    let reason = format!("no record of topic '{}' came within {PATIENCE:?}", self.topic);
                    return Err(BrokerError::Unreachable { broker: self.broker.clone(), reason });
                }
            };
            match record {
                Ok(record) => {
                    if let Some(delivery) = self.delivery(record) {
                        return Ok(Some(delivery));
                    }
                }
                // What is missing up to here was removed, or marks a transaction.
                Err(KafkaError::PartitionEOF(number)) => {
                    if let Some(partition) = self.partition(number) {
                        partition.next = partition.end;
                    }
                }
                Err(error) if watch::passes(&error) => tracing::debug!(%error, topic = %self.topic, "reading goes on"),
                Err(error) => return Err(lost_reader(&self.topic, &error)),
            }
        }
        Ok(None)
    }

    async fn close(&mut self) {
        self.taken.close().await;
        let Some(client) = self.client.take() else { return };
        // It leaves its group when it ends, which takes a while.
        let left = tokio::task::spawn_blocking(|| Arc::into_inner(client).map(OffRuntime::end)).await;
        if let Err(error) = left {
            tracing::warn!(%error, topic = %self.topic, "could not leave the group");
        }
    }
}

/// How many records of a topic are there and were not taken.
pub(super) async fn depth(cluster: &Cluster, broker: &str, topic: &str) -> Result<u64, BrokerError> {
    let found = look_for(cluster, broker, topic).await?;
    let passed = passed(cluster, topic, found.partitions).await?;
    Ok(passed.iter().map(|(passed, end)| passed.left(*end)).sum())
}

async fn look_for(cluster: &Cluster, broker: &str, topic: &str) -> Result<Found, BrokerError> {
    topics::check_name(topic).map_err(BrokerError::Unfit)?;
    let found = cluster.topic(topic).await?;
    found.ok_or_else(|| BrokerError::Unfit(format!("there is no topic '{topic}' on broker '{broker}'")))
}

/// What was taken of each partition, and where it ends. What is not there any more counts as taken.
async fn passed(cluster: &Cluster, topic: &str, partitions: i32) -> Result<Vec<(Passed, i64)>, BrokerError> {
    let committed = cluster.committed(topic, partitions).await?;
    let bounds = cluster.bounds(topic, partitions).await?;
    let read = committed.iter().zip(bounds).map(|(committed, (low, end))| {
        let mut passed = Passed::read(committed);
        passed.pass(0..low);
        (passed, end)
    });
    Ok(read.collect())
}
