//! What recording costs on the path where every message is dead-lettered: the same route with a journal and without, in turn.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use reprieve::broker::memory::MemoryBroker;
use reprieve::journal::{Filter, Reader};
use reprieve::message::Message;

use super::path::Path;
use super::through_route::ThroughRoute;
use crate::table::{Table, median};

const ROUNDS: usize = 9;
const MESSAGES: usize = 100_000;
/// The part of the speed without a journal that is to be left.
const GOAL: f64 = 0.95;

/// On the broker in memory, where there is nothing but the host's own work.
pub(crate) fn measure(table: &mut Table) -> anyhow::Result<()> {
    tokio::runtime::Runtime::new()?.block_on(compare("memory broker", MESSAGES, table, async |journal| {
        let broker = MemoryBroker::new(MESSAGES + 1);
        let body = Bytes::from(vec![b'x'; 1024]);
        for n in 0..MESSAGES {
            let mut message = Message::new(body.clone()).with_id(n.to_string());
            for header in ["tenant", "kind", "version", "origin"] {
                message.headers.push(header, "a value of ordinary length");
            }
            broker.publish_to("bench", message)?;
        }
        let (name, source, dead_letters, path) = ("bench", "bench", "bench.dlq", Path::DeadLetter);
        let broker = Arc::new(broker);
        ThroughRoute { broker, name, source, dead_letters, tier: None, path, messages: MESSAGES, journal }.run().await
    }))
}

/// Runs the route with a journal and without. Says how many of the failures the journal has: what it drops costs nothing.
pub(super) async fn compare(
    what: &str,
    messages: usize,
    table: &mut Table,
    mut run: impl AsyncFnMut(Option<PathBuf>) -> anyhow::Result<Duration>,
) -> anyhow::Result<()> {
    let rate = |took: Duration| messages as f64 / took.as_secs_f64();
    let (mut ratios, mut recorded, mut on, mut off) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for round in 1..=ROUNDS {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join(reprieve::journal::FILE);
        // The first one of a pair has a colder machine, so they take turns at it.
        let (with, without) = if round % 2 == 0 {
            let with = rate(run(Some(file.clone())).await?);
            (with, rate(run(None).await?))
        } else {
            let without = rate(run(None).await?);
            (rate(run(Some(file.clone())).await?), without)
        };
        let rows = Reader::open(&file)?.count(&Filter::default())?;
        eprintln!("{what}, round {round}: off {without:.0}/s, on {with:.0}/s, {rows} of {messages} recorded");
        ratios.push(with / without);
        recorded.push(rows as f64 / messages as f64);
        on.push(with);
        off.push(without);
    }
    let row = |name: &str| format!("journal, {what}, {name}");
    table.row(&row("off, dead letters a second"), format!("{:.0}", median(&mut off)), "-", true);
    table.row(&row("on, dead letters a second"), format!("{:.0}", median(&mut on)), "-", true);
    let ratio = median(&mut ratios);
    table.row(&row("on / off, median of nine"), format!("{ratio:.3}"), &format!(">= {GOAL:.2}"), ratio >= GOAL);
    let share = median(&mut recorded);
    table.row(&row("part of the failures recorded"), format!("{share:.3}"), ">= 1.00", share >= 1.0);
    Ok(())
}
