//! Messages that were handled before, over restarts of the host.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use lapin::BasicProperties;
use reprieve::handler::Call;
use reprieve::handler::closure::handler_fn;
use reprieve::handler_error::HandlerError;
use reprieve::host::{Host, HostSpec, HostedRoute};
use reprieve::route::{Deduplicate, KeySource, RouteSpec, RouteWork};
use reprieve::store::Store;
use reprieve_tests::rabbitmq::Sandbox;

use crate::{driver, within};

async fn host(source: &str, file: &Path, runs: &Arc<AtomicU32>) -> Host {
    let runs = Arc::clone(runs);
    // The very first run fails, and is tried again in process: that is no duplicate.
    let handler = Arc::new(handler_fn(move |_: Call| {
        let first = runs.fetch_add(1, Ordering::SeqCst) == 0;
        async move { if first { Err(HandlerError::new("busy", "try again")) } else { Ok(()) } }
    }));
    let work = RouteWork::Handle { handler, timeout: Duration::from_secs(10) };
    let mut route = RouteSpec::new("orders", source, Arc::new(driver()), work);
    route.retry.max_attempts = 2;
    route.retry.initial_delay = Duration::from_millis(1);
    let store = Store::new(file).unwrap();
    route.deduplicate = Some(Deduplicate { by: KeySource::Id, window: Duration::from_secs(600), store });
    Host::start(HostSpec { routes: vec![HostedRoute::new(route)], ..HostSpec::default() }).await.unwrap()
}

#[tokio::test]
async fn a_message_that_is_sent_again_is_handled_once_also_over_a_restart() {
    let sandbox = Sandbox::new().await;
    let source = sandbox.queue("source", &[]).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state/host.db");
    let runs: Arc<AtomicU32> = Arc::default();
    let send = |id: &'static str| sandbox.put(&source, b"body", BasicProperties::default().with_message_id(id.into()));
    let skipped = |host: &Host| {
        let metrics = host.observer().metrics().encode();
        let name = "reprieve_skipped_total{route=\"orders\",why=\"duplicate\"} ";
        metrics.lines().find_map(|line| line.strip_prefix(name)?.parse::<u32>().ok()).unwrap_or(0)
    };
    let wait_for = async |host: &Host, ran: u32, unrun: u32| {
        let arrived = async {
            while (runs.load(Ordering::SeqCst), skipped(host)) != (ran, unrun) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        within(arrived).await;
    };

    let first = host(&source, &file, &runs).await;
    send("m1").await;
    wait_for(&first, 2, 0).await;
    // It comes back only after the success was recorded and acknowledged.
    sandbox.wait_for_count(&source, 0).await;
    first.shutdown().await;

    let second = host(&source, &file, &runs).await;
    send("m1").await;
    wait_for(&second, 2, 1).await;
    send("m2").await;
    wait_for(&second, 3, 1).await;
    second.shutdown().await;
    assert!(sandbox.poll(&source).await.is_none());
}
