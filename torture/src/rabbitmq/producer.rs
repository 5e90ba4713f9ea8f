//! Sends messages at a steady rate, and writes down which of them the broker has confirmed.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use lapin::options::{BasicPublishOptions, ConfirmSelectOptions};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{BasicProperties, Channel, Confirmation};
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::client::Client;
use super::topology::SOURCE;
use crate::books::{Books, body, id};

/// The sender's own header, with the message's number.
pub(super) const HEADER: &str = "torture-number";

const BATCHES_A_SECOND: u32 = 5;
/// After this a message counts as unconfirmed.
const LONGEST_CONFIRM: Duration = Duration::from_secs(60);

/// Sends until it is told to stop. No message is sent twice: one that was not confirmed may or may not have arrived.
pub(super) async fn produce(broker: SocketAddr, rate: u32, books: Arc<Books>, mut stop: watch::Receiver<bool>) {
    let mut client = Client::new(broker);
    let mut ticks = interval(Duration::from_secs(1) / BATCHES_A_SECOND);
    // What could not be sent while the broker was down is not made up for.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut next = 0;
    loop {
        tokio::select! {
            _ = stop.wait_for(|stop| *stop) => return,
            _ = ticks.tick() => {}
        }
        let channel = tokio::select! {
            _ = stop.wait_for(|stop| *stop) => return,
            channel = client.channel() => channel,
        };
        if channel.confirm_select(ConfirmSelectOptions::default()).await.is_err() {
            continue;
        }
        let batch = next..next + u64::from(rate.div_ceil(BATCHES_A_SECOND));
        next = batch.end;
        join_all(batch.map(|number| send(&channel, number, &books))).await;
    }
}

async fn send(channel: &Channel, number: u64, books: &Books) {
    books.sending(number);
    let mut headers = FieldTable::default();
    headers.insert(HEADER.into(), AMQPValue::LongLongInt(i64::try_from(number).expect("few messages")));
    let properties = BasicProperties::default()
        .with_message_id(id(number).into())
        .with_content_type("application/json".into())
        .with_delivery_mode(2)
        .with_headers(headers);
    let confirmed = timeout(LONGEST_CONFIRM, async {
        let options = BasicPublishOptions { mandatory: true, ..Default::default() };
        channel.basic_publish("".into(), SOURCE.into(), options, body(number).as_bytes(), properties).await?.await
    });
    if let Ok(Ok(Confirmation::Ack(None))) = confirmed.await {
        books.confirmed(number);
    }
}
