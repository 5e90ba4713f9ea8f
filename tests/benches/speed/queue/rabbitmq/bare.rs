//! The least that a client can do, and as fast as it can: everything on one channel, with as many messages under way as
//! the prefetch allows.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use lapin::message::Delivery;
use lapin::options::{BasicAckOptions, BasicConsumeOptions, BasicPublishOptions, BasicQosOptions};
use lapin::types::FieldTable;
use lapin::{Channel, Confirmation, Connection, ConnectionProperties};

use super::{DEAD_LETTERS, SOURCE, TIER_NAME};
use crate::queue::CONCURRENCY;
use crate::queue::path::Path;

/// From the first message in hand to the last one settled.
pub(super) async fn run(path: Path, messages: usize) -> anyhow::Result<Duration> {
    let connection = Connection::connect(&reprieve_tests::rabbitmq::url(), ConnectionProperties::default()).await?;
    let channel = connection.create_channel().await?;
    channel.basic_qos(CONCURRENCY, BasicQosOptions::default()).await?;
    let publishing = connection.create_channel().await?;
    publishing.confirm_select(Default::default()).await?;
    let mut consumer = channel
        .basic_consume(SOURCE.into(), "bench".into(), BasicConsumeOptions::default(), FieldTable::default())
        .await?;
    let mut begin = None;
    let mut settled = 0;
    let mut under_way = FuturesUnordered::new();
    while settled < messages {
        tokio::select! {
            Some(delivery) = consumer.next() => {
                begin.get_or_insert_with(Instant::now);
                under_way.push(settle(&channel, &publishing, path, delivery?));
            }
            Some(ended) = under_way.next() => settled += usize::from(ended?),
        }
    }
    let took = begin.context("nothing was consumed")?.elapsed();
    connection.close(200, "done".into()).await?;
    Ok(took)
}

/// Whether this was the end of the message.
async fn settle(channel: &Channel, publishing: &Channel, path: Path, delivery: Delivery) -> anyhow::Result<bool> {
    // The broker says that it came through a tier.
    let is_back = delivery.properties.headers().as_ref().is_some_and(|headers| headers.contains_key("x-death"));
    let target = match path {
        Path::DeadLetter => Some((String::new(), DEAD_LETTERS)),
        Path::Tier if !is_back => Some((tier_exchange(), SOURCE)),
        Path::Happy | Path::Tier => None,
    };
    if let Some((exchange, key)) = &target {
        let options = BasicPublishOptions { mandatory: true, immediate: false };
        let (exchange, key) = (exchange.as_str().into(), (*key).into());
        let confirm = publishing.basic_publish(exchange, key, options, &delivery.data, delivery.properties.clone());
        let confirmation = confirm.await?.await?;
        ensure!(confirmation == Confirmation::Ack(None), "not kept: {confirmation:?}");
    }
    channel.basic_ack(delivery.delivery_tag, BasicAckOptions::default()).await?;
    Ok(path != Path::Tier || is_back)
}

/// The exchange and queue of the tier, as the host names them.
pub(super) fn tier_exchange() -> String {
    format!("reprieve.tier.{TIER_NAME}")
}
