//! Reads a topic raw, without a group, from its first record on and for ever.

use std::sync::Mutex;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use rdkafka::consumer::{Consumer as _, StreamConsumer};
use rdkafka::message::BorrowedMessage;
use rdkafka::{Message as _, Offset, TopicPartitionList};
use tokio::sync::watch;
use tokio::task::block_in_place;
use tokio::time::{sleep, timeout};

use super::lock;
use super::log::{Log, Record};
use super::record::{Seen, is_probe};
use super::topics::{COMMITTED, DEAD_TOPICS, client};
use crate::books::{Books, DeadLetter, id};

/// Between looks whether the topic is there.
const PAUSE: Duration = Duration::from_millis(200);
const ANSWER: Duration = Duration::from_secs(2);
/// After this time without a record another client reads on.
const SILENCE: Duration = Duration::from_secs(5);

/// Reads for ever. After the topic was `deleted`, what is there under its name is read from its begin.
pub(super) async fn read(
    server: &str,
    topic: &'static str,
    mut deleted: watch::Receiver<u32>,
    log: &Mutex<Log>,
    books: &Books,
) {
    loop {
        tokio::select! {
            changed = deleted.changed() => if changed.is_err() { return },
            failed = read_on(server, topic, log, books) => {
                // The broker is down, the topic is not there or another one, or nothing came for a while.
                drop(failed);
                sleep(PAUSE).await;
            }
        }
    }
}

async fn read_on(server: &str, topic: &'static str, log: &Mutex<Log>, books: &Books) -> Result<()> {
    let mut config = client(server);
    config.set("group.id", "torture-reader").set("enable.auto.commit", "false").set("fetch.wait.max.ms", "50");
    config.set("auto.offset.reset", "earliest");
    let consumer: StreamConsumer = config.create().context("cannot make a reader for Kafka")?;
    let metadata = block_in_place(|| consumer.fetch_metadata(Some(topic), ANSWER))?;
    let found = metadata.topics().first().filter(|topic| topic.error().is_none());
    let partitions = found.map_or(0, |topic| topic.partitions().len());
    ensure!(partitions > 0, "there is no topic {topic} yet");
    let mut places = TopicPartitionList::new();
    places.add_partition_range(topic, 0, i32::try_from(partitions)? - 1);
    for mut place in places.elements() {
        let read = lock(log).position((topic, place.partition()));
        place.set_offset(read.map_or(Offset::Beginning, Offset::Offset))?;
    }
    consumer.assign(&places)?;
    loop {
        // A client can go on waiting for a topic that was made anew under its name, and say nothing of it.
        let record = timeout(SILENCE, consumer.recv()).await.context("nothing came")??;
        write_down(&record, topic, log, books);
    }
}

fn write_down(record: &BorrowedMessage<'_>, topic: &'static str, log: &Mutex<Log>, books: &Books) {
    let place = (topic, record.partition(), record.offset());
    let mut log = lock(log);
    if !log.is_next(place) {
        return;
    }
    let Seen { number, attempts, bare, altered, made } = Seen::of(record);
    match number {
        Some(number) if DEAD_TOPICS.contains(&topic) => {
            let at = books.clock.now();
            books.dead_letter(&id(number), DeadLetter { at, queue: topic, redelivered: false, made, altered, bare });
        }
        Some(number) => {
            let timestamp = record.timestamp().to_millis().unwrap_or(0);
            log.add(place, Record { number, timestamp, attempts });
        }
        None if COMMITTED.contains(&topic) && is_probe(record) => log.add_probe(place),
        None => books.stranger(&format!("{topic}/{}/{}", place.1, place.2)),
    }
    log.has_come_to(place);
}
