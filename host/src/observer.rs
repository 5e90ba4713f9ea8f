//! Tells whoever watches what happened on the routes: embedders through a typed stream, people through log lines,
//! machines through metrics.
//!
//! * [`metrics`]: counters, gauges and histograms, in the Prometheus text format.
//! * [`health`]: a route's last minute, which its policy is shown.
//! * `error_kinds`: the bound on how many error kinds a route can name.
//! * `log`: one line for each event.

mod error_kinds;
pub mod health;
mod log;
pub mod metrics;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use tokio::sync::broadcast;

use crate::event::{Event, EventKind};
use crate::journal::Journal;
use crate::telemetry::Traces;
use crate::timestamp::Timestamp;

pub use health::HealthWindow;
pub use metrics::{CandidateMetrics, JournalMetrics, Metrics, RouteMetrics, SpansLost};

/// Events that a subscriber may be behind before it misses the oldest.
const STREAM_CAPACITY: usize = 4096;

/// The most that can be asked for.
const LARGEST_STREAM_CAPACITY: usize = 1 << 24;

/// Where events go. Clones share everything; routes need not be registered.
#[derive(Clone)]
pub struct Observer {
    shared: Arc<Shared>,
}

struct Shared {
    stream: broadcast::Sender<Arc<Event>>,
    /// Set by the first subscription. Until then `emit` does not touch the stream, whose subscriber count takes a lock.
    subscribed: AtomicBool,
    metrics: Metrics,
    traces: OnceLock<Traces>,
    journal: OnceLock<Journal>,
}

impl Observer {
    /// An observer without subscribers, with every metric at zero.
    #[must_use]
    pub fn new() -> Self {
        Self::with_capacity(STREAM_CAPACITY)
    }

    /// The same with subscribers that may fall behind by `events`: at least the usual 4096, at most 16 million. The room
    /// is taken at once, some 50 bytes each.
    #[must_use]
    pub fn with_capacity(events: usize) -> Self {
        let (stream, _) = broadcast::channel(events.clamp(STREAM_CAPACITY, LARGEST_STREAM_CAPACITY));
        let subscribed = AtomicBool::new(false);
        let shared =
            Shared { stream, subscribed, metrics: Metrics::new(), traces: OnceLock::new(), journal: OnceLock::new() };
        Self { shared: Arc::new(shared) }
    }

    /// Records that something happened on a route: logs it, counts it and hands it to the subscribers. Never waits.
    pub fn emit(&self, route: &Arc<str>, kind: EventKind) {
        log::write(route, &kind);
        self.shared.metrics.count(route, &kind);
        if let Some(journal) = self.journal() {
            journal.observe(route, &kind);
        }
        if self.shared.subscribed.load(Ordering::Acquire) && self.shared.stream.receiver_count() > 0 {
            let event = Event { at: Timestamp::now(), route: Arc::clone(route), kind };
            // An error means that the last subscriber left in between: nobody misses the event.
            let _ = self.shared.stream.send(Arc::new(event));
        }
    }

    /// Every event from now on.
    ///
    /// A subscriber that falls more than 4096 events behind, or what [`Observer::with_capacity`] was given, gets
    /// `RecvError::Lagged` with the number that it missed, and goes on with the oldest that is left: routes never wait for whoever watches them. Metrics miss nothing.
    #[must_use]
    pub fn subscribe(&self) -> broadcast::Receiver<Arc<Event>> {
        let receiver = self.shared.stream.subscribe();
        self.shared.subscribed.store(true, Ordering::Release);
        receiver
    }

    /// From now on deliveries are traced. Gives `traces` back where they are traced already.
    pub(crate) fn trace_with(&self, traces: Traces) -> Result<(), Traces> {
        self.shared.traces.set(traces)
    }

    /// What makes spans, where deliveries are traced.
    pub(crate) fn traces(&self) -> Option<&Traces> {
        self.shared.traces.get()
    }

    /// From now on failures are recorded. Gives `journal` back where they are already.
    pub(crate) fn record_in(&self, journal: Journal) -> Result<(), Journal> {
        self.shared.journal.set(journal)
    }

    /// Where failures are recorded, if they are.
    pub(crate) fn journal(&self) -> Option<&Journal> {
        self.shared.journal.get()
    }

    /// The metrics that events are counted in, and those that the route driver sets.
    #[must_use]
    pub fn metrics(&self) -> &Metrics {
        &self.shared.metrics
    }
}

impl Default for Observer {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Observer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Observer").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
