//! From RabbitMQ, with one ack a message. The tier is one for all rounds.

mod bare;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use lapin::options::{BasicPublishOptions, QueueDeclareOptions};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{BasicProperties, Channel, Connection, ConnectionProperties};
use reprieve::broker::rabbitmq::{RabbitMq, RabbitMqSettings};
use reprieve::topic::Tier;

use super::journal;
use super::path::Path;
use super::rounds::Comparison;
use super::through_route::ThroughRoute;
use crate::table::Table;

const SOURCE: &str = "reprieve.bench";
const DEAD_LETTERS: &str = "reprieve.bench.dlq";
/// Short, so that what is measured is the work and not the wait.
const TIER: Duration = Duration::from_millis(200);
const TIER_NAME: &str = "reprieve-bench-200ms";

pub(crate) fn measure(table: &mut Table) -> anyhow::Result<()> {
    tokio::runtime::Runtime::new()?.block_on(async {
        let connection = Connection::connect(&reprieve_tests::rabbitmq::url(), ConnectionProperties::default()).await?;
        let channel = connection.create_channel().await?;
        channel.confirm_select(Default::default()).await?;
        compare(&channel, Path::Happy, "happy path", 0.95, table).await?;
        compare(&channel, Path::DeadLetter, "every message dead-lettered", 0.8, table).await?;
        compare(&channel, Path::Tier, "every message through a tier once", 0.7, table).await?;
        let messages = 5_000;
        journal::compare("RabbitMQ", messages, table, async |journal| {
            fill(&channel, messages).await?;
            through_route(Path::DeadLetter, messages, journal).await
        })
        .await?;
        clean(&channel).await
    })
}

async fn compare(
    channel: &Channel,
    path: Path,
    what: &'static str,
    goal: f64,
    table: &mut Table,
) -> anyhow::Result<()> {
    let messages = if path == Path::Happy { 20_000 } else { 5_000 };
    let route = async || {
        fill(channel, messages).await?;
        through_route(path, messages, None).await
    };
    let bare = async || {
        fill(channel, messages).await?;
        bare::run(path, messages).await
    };
    Comparison { what, messages, goal }.measure(table, route, bare).await
}

async fn through_route(path: Path, messages: usize, journal: Option<PathBuf>) -> anyhow::Result<Duration> {
    let broker = Arc::new(RabbitMq::new(&RabbitMqSettings::new("bench", reprieve_tests::rabbitmq::url()))?);
    let tier = (path == Path::Tier).then(|| Tier { name: TIER_NAME.to_owned(), delay: TIER });
    let (source, dead_letters) = (SOURCE, DEAD_LETTERS);
    ThroughRoute { broker, name: "bench", source, dead_letters, tier, path, messages, journal }.run().await
}

/// Messages of 1 KiB in new queues, so that no round works on what another left behind.
async fn fill(channel: &Channel, messages: usize) -> anyhow::Result<()> {
    for queue in [SOURCE, DEAD_LETTERS] {
        channel.queue_delete(queue.into(), Default::default()).await?;
        let durable = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
        let mut arguments = FieldTable::default();
        if queue == DEAD_LETTERS {
            // As the host declares one.
            arguments.insert("x-queue-type".into(), AMQPValue::LongString("quorum".into()));
        }
        channel.queue_declare(queue.into(), durable, arguments).await?;
    }
    let body = vec![b'x'; 1024];
    let mut confirms = Vec::with_capacity(messages);
    for n in 0..messages {
        let properties = BasicProperties::default().with_message_id(n.to_string().into()).with_delivery_mode(2);
        confirms.push(
            channel.basic_publish("".into(), SOURCE.into(), BasicPublishOptions::default(), &body, properties).await?,
        );
    }
    for confirm in confirms {
        confirm.await?;
    }
    Ok(())
}

async fn clean(channel: &Channel) -> anyhow::Result<()> {
    let tier = bare::tier_exchange();
    for queue in [SOURCE, DEAD_LETTERS, tier.as_str()] {
        channel.queue_delete(queue.into(), Default::default()).await?;
    }
    channel.exchange_delete(tier.into(), Default::default()).await?;
    Ok(())
}
