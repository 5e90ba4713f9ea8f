//! The queues and exchanges of a run.

use anyhow::{Context as _, Result};
use lapin::options::{
    BasicGetOptions, ExchangeDeclareOptions, ExchangeDeleteOptions, QueueBindOptions, QueueDeclareOptions,
    QueueDeleteOptions,
};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{Channel, ExchangeKind};

/// What the hosts consume.
pub(super) const SOURCE: &str = "torture.orders";
/// The dead letters without a label: a queue that refuses when it is full.
pub(super) const DEAD: &str = "torture.dead";
/// How many dead letters fill it.
const DEAD_LENGTH: i32 = 10;
/// The exchange of those that are labelled `invalid`, and the routing key there.
pub(super) const EXCHANGE: &str = "torture.invalid";
pub(super) const INVALID: &str = "invalid";
/// The queue that is bound to it.
pub(super) const INVALID_QUEUE: &str = "torture.invalid.dead";
/// Where the broker itself puts what it gives up; nothing should come here.
const GIVEN_UP: &str = "torture.given-up";
/// Every queue that dead letters can be on.
pub(super) const DEAD_QUEUES: [&str; 3] = [DEAD, INVALID_QUEUE, GIVEN_UP];
/// The queues that messages wait in: the source, and the tiers that hosts declare.
pub(super) const WAITING: [&str; 3] = [SOURCE, "reprieve.tier.1s", "reprieve.tier.3s"];

/// The kind of the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Source {
    /// Replicated, synced to the disk.
    Quorum,
    /// Durable, on one node.
    Classic,
}

impl Source {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Quorum => "quorum",
            Self::Classic => "classic",
        }
    }
}

/// Declares everything but what hosts declare themselves.
pub(super) async fn declare(channel: &Channel, source: Source) -> Result<()> {
    declare_queue(channel, GIVEN_UP, &[("x-queue-type", text("quorum"))]).await?;
    // With a dead-letter exchange, it is safe to hand a message back: hosts do so.
    let arguments = [
        ("x-queue-type", text(source.name())),
        ("x-dead-letter-exchange", text("")),
        ("x-dead-letter-routing-key", text(GIVEN_UP)),
    ];
    declare_queue(channel, SOURCE, &arguments).await?;
    let arguments = [
        ("x-queue-type", text("quorum")),
        ("x-max-length", AMQPValue::LongInt(DEAD_LENGTH)),
        ("x-overflow", text("reject-publish")),
    ];
    declare_queue(channel, DEAD, &arguments).await?;
    declare_invalid(channel).await
}

/// Declares the exchange for invalid messages and its queue, where they are not there.
pub(super) async fn declare_invalid(channel: &Channel) -> Result<()> {
    let options = ExchangeDeclareOptions { durable: true, ..Default::default() };
    channel
        .exchange_declare(EXCHANGE.into(), ExchangeKind::Direct, options, FieldTable::default())
        .await
        .with_context(|| format!("cannot declare exchange {EXCHANGE}"))?;
    // Classic, since the broker deletes no other kind on condition that it is empty.
    declare_queue(channel, INVALID_QUEUE, &[("x-queue-type", text("classic"))]).await?;
    let bound = channel.queue_bind(
        INVALID_QUEUE.into(),
        EXCHANGE.into(),
        INVALID.into(),
        QueueBindOptions::default(),
        FieldTable::default(),
    );
    bound.await.with_context(|| format!("cannot bind {INVALID_QUEUE}"))
}

/// Deletes the exchange: what is published to it then ends the publisher's channel.
pub(super) async fn delete_exchange(channel: &Channel) -> Result<()> {
    let deleted = channel.exchange_delete(EXCHANGE.into(), ExchangeDeleteOptions::default());
    deleted.await.with_context(|| format!("cannot delete {EXCHANGE}"))
}

/// Unbinds the queue: what is published to the exchange then comes back.
pub(super) async fn unbind_queue(channel: &Channel) -> Result<()> {
    let unbound = channel.queue_unbind(INVALID_QUEUE.into(), EXCHANGE.into(), INVALID.into(), FieldTable::default());
    unbound.await.with_context(|| format!("cannot unbind {INVALID_QUEUE}"))
}

/// Deletes the queue if nothing is in it: dead letters are not the rig's to destroy.
pub(super) async fn delete_queue(channel: &Channel) -> Result<()> {
    let options = QueueDeleteOptions { if_empty: true, ..Default::default() };
    channel
        .queue_delete(INVALID_QUEUE.into(), options)
        .await
        .with_context(|| format!("cannot delete {INVALID_QUEUE}"))?;
    Ok(())
}

/// How many messages are ready on a queue, and how many consumers it has. From a quorum queue that does not answer within
/// a quarter of a second, the broker makes that 0 and 0.
pub(super) async fn ready(channel: &Channel, queue: &str) -> Result<(u32, u32)> {
    let passive = QueueDeclareOptions { passive: true, ..Default::default() };
    let queue = channel.queue_declare(queue.into(), passive, FieldTable::default()).await?;
    Ok((queue.message_count(), queue.consumer_count()))
}

/// Takes one message off a queue, without an ack.
pub(super) async fn get(channel: &Channel, queue: &str) -> lapin::Result<Option<lapin::message::Delivery>> {
    let got = channel.basic_get(queue.into(), BasicGetOptions::default()).await?;
    Ok(got.map(|message| message.delivery))
}

async fn declare_queue(channel: &Channel, name: &str, arguments: &[(&str, AMQPValue)]) -> Result<()> {
    let mut table = FieldTable::default();
    for (argument, value) in arguments {
        table.insert((*argument).into(), value.clone());
    }
    let options = QueueDeclareOptions { durable: true, ..Default::default() };
    channel.queue_declare(name.into(), options, table).await.with_context(|| format!("cannot declare {name}"))?;
    Ok(())
}

fn text(value: &str) -> AMQPValue {
    AMQPValue::LongString(value.into())
}
