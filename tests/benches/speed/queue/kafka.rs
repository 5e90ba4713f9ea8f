//! From Kafka, with commits of the contiguous position. Both sides read the same records, each time in a group of their own.

mod bare;
mod positions;

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use futures_util::future::try_join_all;
use rdkafka::ClientConfig;
use rdkafka::producer::{FutureProducer, FutureRecord};
use reprieve::broker::kafka::{Kafka, KafkaSettings};
use reprieve_tests::kafka::{Sandbox, address};

use super::path::Path;
use super::rounds::Comparison;
use super::through_route::ThroughRoute;
use crate::table::Table;

const PARTITIONS: i32 = 4;

pub(crate) fn measure(table: &mut Table) -> anyhow::Result<()> {
    tokio::runtime::Runtime::new()?.block_on(async {
        compare(Path::Happy, 100_000, "Kafka, happy path", 0.9, table).await?;
        compare(Path::DeadLetter, 20_000, "Kafka, every message dead-lettered", 0.8, table).await
    })
}

async fn compare(path: Path, messages: usize, what: &'static str, goal: f64, table: &mut Table) -> anyhow::Result<()> {
    let sandbox = Sandbox::new();
    let source = sandbox.topic("orders", PARTITIONS, &[]).await;
    let dead_letters = sandbox.topic("orders.dlq", PARTITIONS, &[]).await;
    fill(&source, messages).await?;
    let round = Cell::new(0);
    let new_name = |side: &str| {
        round.set(round.get() + 1);
        sandbox.name(&format!("{side}-{}", round.get()))
    };
    let route = async || -> anyhow::Result<Duration> {
        let name = new_name("route");
        sandbox.delete_later(&format!("reprieve.{name}"));
        let broker = Arc::new(Kafka::new(&KafkaSettings::new("bench", address()))?);
        let (source, dead_letters, name) = (source.as_str(), dead_letters.as_str(), name.as_str());
        ThroughRoute { broker, name, source, dead_letters, tier: None, path, messages, journal: None }.run().await
    };
    let bare = async || {
        let dead_letters = (path == Path::DeadLetter).then_some(dead_letters.as_str());
        bare::run(&new_name("bare"), &source, dead_letters, messages).await
    };
    Comparison { what, messages, goal }.measure(table, route, bare).await
}

/// Records of 1 KiB with keys, so that all partitions have some.
async fn fill(source: &str, messages: usize) -> anyhow::Result<()> {
    let producer: FutureProducer = ClientConfig::new().set("bootstrap.servers", address()).create()?;
    let body = vec![b'x'; 1024];
    for begin in (0..messages).step_by(1000) {
        let mut reports = Vec::new();
        for n in begin..messages.min(begin + 1000) {
            let key = n.to_string();
            let sent = producer.send_result(FutureRecord::to(source).key(&key).payload(&body));
            reports.push(sent.map_err(|(error, _)| error)?);
        }
        for report in try_join_all(reports).await.context("the producer has ended")? {
            report.map_err(|(error, _)| error)?;
        }
    }
    Ok(())
}
