//! The work by a route of the host, judged by the embedded standard policy.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use reprieve::broker::Broker;
use reprieve::event::EventKind;
use reprieve::handler::{Call, closure::handler_fn};
use reprieve::handler_error::HandlerError;
use reprieve::host::{Host, HostSpec, HostedRoute};
use reprieve::journal::{JournalSettings, Keeping};
use reprieve::route::{RouteSpec, RouteWork};
use reprieve::topic::{Tier, Topic};
use serde_json::json;
use tokio::sync::Notify;

use super::CONCURRENCY;
use super::path::Path;

/// A route that does this work.
pub(super) struct ThroughRoute<'r> {
    pub(super) broker: Arc<dyn Broker>,
    pub(super) name: &'r str,
    pub(super) source: &'r str,
    pub(super) dead_letters: &'r str,
    /// Only for [`Path::Tier`].
    pub(super) tier: Option<Tier>,
    pub(super) path: Path,
    pub(super) messages: usize,
    /// The file that failures are recorded in, where they are.
    pub(super) journal: Option<PathBuf>,
}

impl ThroughRoute<'_> {
    /// From the first message in hand to the last one at its end.
    pub(super) async fn run(mut self) -> anyhow::Result<Duration> {
        let path = self.path;
        let count = Arc::new(Count::new(self.messages));
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
        let journal = self.journal.take().map(|file| JournalSettings {
            file,
            host: "bench".to_owned(),
            max_age: Duration::from_secs(3600),
            max_size: 1 << 40,
            keeping: Keeping::default(),
        });
        let host = Host::start(HostSpec { routes: vec![self.hosted(handler)], journal, ..HostSpec::default() }).await?;
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

    fn hosted(self, handler: impl reprieve::handler::Handler) -> HostedRoute {
        let work = RouteWork::Handle { handler: Arc::new(handler), timeout: Duration::from_secs(10) };
        let mut route = RouteSpec::new(self.name, self.source, self.broker, work);
        route.concurrency = CONCURRENCY;
        route.dead_letters.insert("default".to_owned(), Topic::Named(self.dead_letters.to_owned()));
        // What the standard policy is told, so that it does this.
        let settings = self.tier.as_ref().map_or_else(|| json!({}), |tier| json!({ "tiers": [tier.name] }));
        route.tiers.extend(self.tier);
        let mut hosted = HostedRoute::new(route);
        hosted.settings = settings;
        hosted
    }
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
