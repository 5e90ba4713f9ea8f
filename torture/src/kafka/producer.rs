//! Sends records at a steady rate, and writes down which of them the broker has confirmed, and where.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use futures_util::future::join_all;
use rdkafka::producer::{FutureProducer, FutureRecord};
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

use super::record::{body, headers, key};
use super::topics::{PARTITIONS, SOURCE, client};
use crate::books::Books;

const BATCHES_A_SECOND: u32 = 5;
/// After this a message counts as unconfirmed.
const LONGEST_CONFIRM_MS: &str = "60000";

/// Sends until it is told to stop.
pub(super) async fn produce(server: &str, rate: u32, books: Arc<Books>, mut stop: watch::Receiver<bool>) -> Result<()> {
    let mut config = client(server);
    config.set("acks", "all").set("enable.idempotence", "true").set("delivery.timeout.ms", LONGEST_CONFIRM_MS);
    let producer: FutureProducer = config.create().context("cannot make a producer for Kafka")?;
    let mut ticks = interval(Duration::from_secs(1) / BATCHES_A_SECOND);
    // What could not be sent while the broker was down is not made up for.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut next = 0;
    loop {
        tokio::select! {
            _ = stop.wait_for(|stop| *stop) => return Ok(()),
            _ = ticks.tick() => {}
        }
        let batch = next..next + u64::from(rate.div_ceil(BATCHES_A_SECOND));
        next = batch.end;
        join_all(batch.map(|number| send(&producer, number, &books))).await;
    }
}

async fn send(producer: &FutureProducer, number: u64, books: &Books) {
    books.sending(number);
    let (body, key) = (body(number), key(number));
    let partition = i32::try_from(number % u64::from(PARTITIONS.unsigned_abs())).expect("few partitions");
    let mut record = FutureRecord::to(SOURCE).partition(partition).payload(&body).headers(headers(number));
    if let Some(key) = &key {
        record = record.key(key);
    }
    if let Ok(sent) = producer.send_result(record)
        && let Ok(Ok(_)) = sent.await
    {
        books.confirmed(number);
    }
}
