//! The client that reads a topic, alone in its group or in none.

use std::time::Duration;

use rdkafka::consumer::{Consumer as _, StreamConsumer};
use rdkafka::error::KafkaError;
use rdkafka::{Offset, TopicPartitionList};
use tokio::time::{Instant, timeout_at};

use super::watch::{self, Watch};
use crate::broker::kafka::KafkaSettings;
use crate::broker::kafka::off_runtime::OffRuntime;
use crate::broker::{BrokerError, Browsing};

/// How long the group may take to give its only member all partitions.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) type Client = OffRuntime<StreamConsumer<Watch>>;

/// What the reading client begins with.
pub(super) fn config(settings: &KafkaSettings, group: &str) -> rdkafka::ClientConfig {
    let mut config = settings.client_config();
    config
        .set("group.id", group)
        .set("enable.auto.commit", "false")
        .set("enable.auto.offset.store", "false")
        .set("auto.offset.reset", "earliest")
        .set("enable.partition.eof", "true")
        .set("allow.auto.create.topics", "false")
        // A slow redrive asks once for each letter.
        .set("max.poll.interval.ms", "86400000");
    // One that was killed is not to keep the next out for long.
    if !["session.timeout.ms", "heartbeat.interval.ms"].iter().any(|name| settings.client.contains_key(*name)) {
        config.set("session.timeout.ms", "10000");
    }
    config
}

/// Waits until the group has given its only member all partitions, which are paused then.
pub(super) async fn join(
    client: &Client,
    assigned: &tokio::sync::watch::Receiver<usize>,
    topic: &str,
    partitions: i32,
    broker: &str,
) -> Result<(), BrokerError> {
    client.subscribe(&[topic]).map_err(|error| lost_reader(topic, &error))?;
    let mut assigned = assigned.clone();
    let deadline = Instant::now() + PATIENCE;
    loop {
        let given = *assigned.borrow_and_update();
        if given > 0 {
            let all = usize::try_from(partitions).is_ok_and(|partitions| partitions == given);
            return if all { Ok(()) } else { Err(taken_by_another(topic)) };
        }
        // Joining goes on only while records are asked for; there is none to come before the assignment.
        let waited = timeout_at(deadline, async {
            tokio::select! {
                _ = assigned.changed() => Ok(()),
                answer = client.recv() => answer.map(drop),
            }
        });
        match waited.await {
            Ok(Ok(())) => {}
            Ok(Err(error)) if watch::passes(&error) => {}
            Ok(Err(error)) => return Err(lost_reader(topic, &error)),
            Err(_) => {
                let reason = format!("the group that redrives topic '{topic}' gave no partitions within {PATIENCE:?}");
                return Err(BrokerError::Unreachable { broker: broker.to_owned(), reason });
            }
        }
    }
}

/// Begins to read each partition where it was left off.
pub(super) fn begin(client: &Client, topic: &str, places: &[i64], purpose: Browsing) -> Result<(), KafkaError> {
    let mut partitions = TopicPartitionList::new();
    for (number, place) in (0..).zip(places) {
        partitions.add_partition_offset(topic, number, Offset::Offset(*place))?;
    }
    match purpose {
        Browsing::Look => client.assign(&partitions),
        // The group's own positions are where it begins.
        Browsing::Take => client.resume(&partitions),
    }
}

pub(super) fn taken_by_another(topic: &str) -> BrokerError {
    BrokerError::Unfit(format!(
        "another redrive of topic '{topic}' is under way: wait until it has ended; the broker forgets one that was killed after \
         `session.timeout.ms`"
    ))
}

pub(super) fn lost_reader(topic: &str, error: &KafkaError) -> BrokerError {
    BrokerError::Lost { source_topic: topic.to_owned(), reason: error.to_string() }
}
