//! Sends messages at a steady rate, and writes down which of them the node has taken.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

use super::client::Client;
use super::record::{key, sent};
use super::topics::SOURCE;
use crate::books::Books;

const BATCHES_A_SECOND: u32 = 5;

/// Sends until it is told to stop.
pub(super) async fn produce(client: Client, rate: u32, books: Arc<Books>, mut stop: watch::Receiver<bool>) {
    let mut ticks = interval(Duration::from_secs(1) / BATCHES_A_SECOND);
    // What could not be sent while the broker was down is not made up for.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut next = 0;
    loop {
        tokio::select! {
            _ = stop.wait_for(|stop| *stop) => return,
            _ = ticks.tick() => {}
        }
        let batch = next..next + u64::from(rate.div_ceil(BATCHES_A_SECOND));
        next = batch.end;
        join_all(batch.map(|number| send(client, number, &books))).await;
    }
}

async fn send(client: Client, number: u64, books: &Books) {
    books.sending(number);
    let key = key(number).map(|key| format!("?key={key}")).unwrap_or_default();
    let path = format!("/v1/topics/{SOURCE}/produce{key}");
    if let Ok((202, _)) = client.post(&path, &sent(number)).await {
        books.confirmed(number);
    }
}
