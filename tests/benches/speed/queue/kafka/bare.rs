//! What a user of the client library would write with care: one loop, as many records under way as the route has, a record
//! counted once its copy is confirmed, and the contiguous positions committed without waiting.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use rdkafka::consumer::{CommitMode, Consumer as _, StreamConsumer};
use rdkafka::message::BorrowedMessage;
use rdkafka::producer::{FutureProducer, FutureRecord};
use rdkafka::util::Timeout;
use rdkafka::{ClientConfig, Message as _};

use super::positions::Positions;
use crate::queue::CONCURRENCY;

/// From the first record in hand to the last one done.
pub(super) async fn run(
    group: &str,
    source: &str,
    dead_letters: Option<&str>,
    messages: usize,
) -> anyhow::Result<Duration> {
    let consumer = consumer(group)?;
    let producer = producer()?;
    consumer.subscribe(&[source])?;
    let mut records = consumer.stream();
    let mut positions = Positions::new(source);
    let (mut begin, mut done) = (None, 0);
    let mut under_way = FuturesUnordered::new();
    while done < messages {
        tokio::select! {
            Some(record) = records.next(), if under_way.len() < usize::from(CONCURRENCY) => {
                begin.get_or_insert_with(Instant::now);
                let record = record?;
                positions.begin(record.partition(), record.offset());
                under_way.push(handle(&producer, dead_letters, record));
            }
            Some(ended) = under_way.next() => {
                let (partition, offset) = ended?;
                done += 1;
                if let Some(commit) = positions.end(partition, offset)? {
                    consumer.commit(&commit, CommitMode::Async)?;
                }
            }
        }
    }
    Ok(begin.context("nothing was consumed")?.elapsed())
}

/// The place of the record, once it is dealt with.
async fn handle(
    producer: &FutureProducer,
    dead_letters: Option<&str>,
    record: BorrowedMessage<'_>,
) -> anyhow::Result<(i32, i64)> {
    if let Some(topic) = dead_letters {
        let copy = FutureRecord::<[u8], [u8]> {
            topic,
            partition: None,
            payload: record.payload(),
            key: record.key(),
            timestamp: None,
            headers: None,
        };
        producer.send(copy, Timeout::Never).await.map_err(|(error, _)| error)?;
    }
    Ok((record.partition(), record.offset()))
}

/// The settings that the host's consumer begins with.
fn consumer(group: &str) -> anyhow::Result<StreamConsumer> {
    let mut config = ClientConfig::new();
    config
        .set("bootstrap.servers", reprieve_tests::kafka::address())
        .set("group.id", group)
        .set("enable.auto.commit", "false")
        .set("enable.auto.offset.store", "false")
        .set("auto.offset.reset", "earliest")
        .set("partition.assignment.strategy", "cooperative-sticky")
        .set("queued.max.messages.kbytes", "8192")
        .set("queued.min.messages", "10000");
    Ok(config.create()?)
}

/// The settings that the host's producer begins with.
fn producer() -> anyhow::Result<FutureProducer> {
    let mut config = ClientConfig::new();
    config
        .set("bootstrap.servers", reprieve_tests::kafka::address())
        .set("acks", "all")
        .set("enable.idempotence", "true")
        .set("linger.ms", "1")
        .set("partitioner", "murmur2_random")
        .set("message.max.bytes", "1000000000")
        .set("batch.size", "262144");
    Ok(config.create()?)
}
