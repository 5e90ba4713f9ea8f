//! Messages a second from RabbitMQ through a route, beside a bare client that does the same work: the same prefetch, as
//! many messages under way, the same publishes with their confirms, and one ack a message. In turn, seven times.

mod bare;
mod through_route;

use std::time::Duration;

use lapin::options::{BasicPublishOptions, QueueDeclareOptions};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{BasicProperties, Channel, Connection, ConnectionProperties};
use serde_json::json;

use crate::table::{Table, median};

const SOURCE: &str = "reprieve.bench";
const DEAD_LETTERS: &str = "reprieve.bench.dlq";
/// Short, so that what is measured is the work and not the wait.
const TIER: Duration = Duration::from_millis(200);
const TIER_NAME: &str = "reprieve-bench-200ms";
/// Messages under way at a time.
const CONCURRENCY: u16 = 32;
const ROUNDS: usize = 7;

/// What is done with each message.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Path {
    /// Handled, acknowledged.
    Happy,
    /// Published to the dead-letter queue, confirmed, acknowledged.
    DeadLetter,
    /// Published to a tier, confirmed, acknowledged; and once more acknowledged when it is back.
    Tier,
}

impl Path {
    const fn messages(self) -> usize {
        match self {
            Self::Happy => 20_000,
            Self::DeadLetter | Self::Tier => 5_000,
        }
    }

    /// What the standard policy is told, so that it does this.
    fn settings(self) -> serde_json::Value {
        match self {
            Self::Happy | Self::DeadLetter => json!({}),
            Self::Tier => json!({ "tiers": [TIER_NAME] }),
        }
    }
}

pub(crate) fn measure(table: &mut Table) -> anyhow::Result<()> {
    tokio::runtime::Runtime::new()?.block_on(async {
        let connection = Connection::connect(&reprieve_tests::rabbitmq::url(), ConnectionProperties::default()).await?;
        let channel = connection.create_channel().await?;
        channel.confirm_select(Default::default()).await?;
        compare(&channel, Path::Happy, "happy path", 0.95, table).await?;
        compare(&channel, Path::DeadLetter, "every message dead-lettered", 0.8, table).await?;
        compare(&channel, Path::Tier, "every message through a tier once", 0.7, table).await?;
        clean(&channel).await
    })
}

async fn compare(channel: &Channel, path: Path, what: &str, goal: f64, table: &mut Table) -> anyhow::Result<()> {
    let (mut ratios, mut ours, mut bare) = (Vec::new(), Vec::new(), Vec::new());
    for round in 1..=ROUNDS {
        fill(channel, path).await?;
        // First ours, which declares what the other then uses.
        let with = rate(path, through_route::run(path).await?);
        fill(channel, path).await?;
        let without = rate(path, bare::run(path).await?);
        eprintln!("{what}, round {round}: bare {without:.0}/s, route {with:.0}/s");
        ratios.push(with / without);
        ours.push(with);
        bare.push(without);
    }
    table.row(&format!("{what}, bare client, messages a second"), format!("{:.0}", median(&mut bare)), "-", true);
    table.row(&format!("{what}, route, messages a second"), format!("{:.0}", median(&mut ours)), "-", true);
    let ratio = median(&mut ratios);
    let wanted = format!(">= {goal:.2}");
    table.row(&format!("{what}, route / bare, median of seven"), format!("{ratio:.2}"), &wanted, ratio >= goal);
    Ok(())
}

fn rate(path: Path, took: Duration) -> f64 {
    path.messages() as f64 / took.as_secs_f64()
}

/// Messages of 1 KiB in new queues, so that no round works on what another left behind.
async fn fill(channel: &Channel, path: Path) -> anyhow::Result<()> {
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
    let mut confirms = Vec::with_capacity(path.messages());
    for n in 0..path.messages() {
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
