//! What a delivery costs that sleeps in this process until it is tried again.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use reprieve::broker::memory::MemoryBroker;
use reprieve::handler::{Call, closure::handler_fn};
use reprieve::handler_error::HandlerError;
use reprieve::host::{Host, HostSpec, HostedRoute};
use reprieve::message::Message;
use reprieve::route::{RouteSpec, RouteWork};

use crate::table::Table;

const SLEEPERS: u16 = 50_000;
const GOAL: u64 = 1024;
const BODY: usize = 1024;

pub(crate) fn measure(table: &mut Table) -> anyhow::Result<()> {
    let each = tokio::runtime::Runtime::new()?.block_on(fall_asleep())?;
    let wanted = format!("<= {GOAL}");
    table.row("one of 50,000 sleeping deliveries beyond its message, bytes", each.to_string(), &wanted, each <= GOAL);
    Ok(())
}

/// Bytes that each delivery takes beyond what its message takes where it only lies in a queue.
async fn fall_asleep() -> anyhow::Result<u64> {
    let sleepers = usize::from(SLEEPERS);
    let broker = MemoryBroker::new(sleepers);
    let handler = handler_fn(|_: Call| std::future::ready(Err(HandlerError::new("busy", "try later"))));
    let work = RouteWork::Handle { handler: Arc::new(handler), timeout: Duration::from_secs(10) };
    let mut route = RouteSpec::new("sleepers", "sleepers", Arc::new(broker.clone()), work);
    route.concurrency = SLEEPERS;
    route.retry.max_attempts = 2;
    route.retry.initial_delay = Duration::from_secs(3600);
    route.retry.max_delay = Duration::from_secs(3600);
    route.max_retry_delay = Duration::from_secs(3600);
    let spec = HostSpec { routes: vec![HostedRoute::new(route)], ..HostSpec::default() };
    let messages = || (0..sleepers).map(|n| Message::new(vec![b'x'; BODY]).with_id(n.to_string())).collect();
    let (at_rest, messages): (Vec<Message>, Vec<Message>) = (messages(), messages());

    let host = Host::start(spec).await?;
    host.ready().await;
    let empty = resident()?;
    for message in at_rest {
        broker.publish_to("at-rest", message)?;
    }
    let before = resident()?;
    for (number, message) in (1..).zip(messages) {
        broker.publish_to("sleepers", message)?;
        // A few at a time, since what a crowd of decisions takes for a moment is not given back to the system. Asked of the
        // metrics, since the stream's backlog would be measured too.
        while usize::is_multiple_of(number, 500) && asleep(&host.observer().metrics().encode()) < number {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    let (resting, asleep) = (before.saturating_sub(empty), resident()?.saturating_sub(before));
    host.shutdown().await;
    Ok(asleep.saturating_sub(resting) / u64::from(SLEEPERS))
}

fn asleep(metrics: &str) -> usize {
    let scheduled = metrics.lines().filter(|line| line.contains("event=\"retry-scheduled\""));
    scheduled.filter_map(|line| line.rsplit(' ').next()?.parse::<usize>().ok()).sum()
}

/// What of this process is in memory, in bytes.
fn resident() -> anyhow::Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).context("the process has memory")?;
    let kibibytes: u64 = line.split_whitespace().nth(1).context("a number")?.parse()?;
    Ok(kibibytes * 1024)
}
