//! The same work by a route of the host, judged by the embedded standard policy.

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use reprieve::broker::rabbitmq::{RabbitMq, RabbitMqSettings};
use reprieve::event::EventKind;
use reprieve::handler::{Call, closure::handler_fn};
use reprieve::handler_error::HandlerError;
use reprieve::host::{Host, HostSpec, HostedRoute};
use reprieve::route::{RouteSpec, RouteWork};
use reprieve::topic::{Tier, Topic};
use tokio::sync::Notify;

use super::{CONCURRENCY, DEAD_LETTERS, Path, SOURCE, TIER, TIER_NAME};

/// From the first message in hand to the last one at its end.
pub(super) async fn run(path: Path) -> anyhow::Result<Duration> {
    let count = Arc::new(Count::new(path.messages()));
    let handler = {
        let count = Arc::clone(&count);
        handler_fn(move |call: Call| {
            count.begin.get_or_init(Instant::now);
            let fails = match path {
                Path::Happy => false,
                Path::DeadLetter => true,
                Path::Tier => call.attempt == 1,
            };
            if !fails {
                count.one_more();
            }
            std::future::ready(if fails { Err(HandlerError::new("busy", "try later")) } else { Ok(()) })
        })
    };
    let broker = RabbitMq::new(&RabbitMqSettings::new("bench", reprieve_tests::rabbitmq::url()))?;
    let work = RouteWork::Handle { handler: Arc::new(handler), timeout: Duration::from_secs(10) };
    let mut route = RouteSpec::new("bench", SOURCE, Arc::new(broker), work);
    route.concurrency = CONCURRENCY;
    route.tiers = vec![Tier { name: TIER_NAME.to_owned(), delay: TIER }];
    route.dead_letters.insert("default".to_owned(), Topic::Named(DEAD_LETTERS.to_owned()));
    let mut hosted = HostedRoute::new(route);
    hosted.settings = path.settings();

    let host = Host::start(HostSpec { routes: vec![hosted], ..HostSpec::default() }).await?;
    if path == Path::DeadLetter {
        let mut events = host.observer().subscribe();
        let count = Arc::clone(&count);
        tokio::spawn(async move {
            while let Ok(event) = events.recv().await {
                if matches!(event.kind, EventKind::DeadLettered { .. }) {
                    count.one_more();
                }
            }
        });
    }
    count.all.notified().await;
    let took = count.begin.get().context("nothing was handled")?.elapsed();
    host.shutdown().await;
    Ok(took)
}

/// How many messages have come to their end.
struct Count {
    begin: OnceLock<Instant>,
    left: AtomicUsize,
    all: Notify,
}

impl Count {
    fn new(messages: usize) -> Self {
        Self { begin: OnceLock::new(), left: AtomicUsize::new(messages), all: Notify::new() }
    }

    fn one_more(&self) {
        if self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.all.notify_one();
        }
    }
}
