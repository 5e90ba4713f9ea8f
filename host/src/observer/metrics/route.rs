//! One route's metrics, looked up once and then without a search.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;

use super::Families;
use super::labels::{EventLabels, RouteLabels};
use crate::event::Subject;
use crate::observer::error_kinds::ErrorKinds;

/// The gauges and histograms that a route's driver sets.
#[derive(Debug)]
pub struct RouteMetrics {
    /// Deliveries that hold a slot.
    pub in_flight: Gauge,
    /// 1 while the route takes no new messages, else 0.
    pub intake_paused: Gauge,
    /// Deliveries that are held because their outcome could not be published yet.
    pub held: Gauge,
    /// Deliveries that wait, without a slot, for another one of their key to end.
    pub waiting: Gauge,
    /// Times that the store could not say or take up what was handled.
    pub store_failures: Counter,
    /// Acks and hand-backs that the broker did not take, or did not answer, so that they are tried again.
    pub settle_retries: Counter,
    decision_time: Histogram,
    handler_time: Histogram,
    route: Arc<str>,
    pub(super) error_kinds: ErrorKinds,
    /// The counter of successes with the topic that it counts. A route has one source, so this is all that a success needs.
    successes: OnceLock<(Arc<str>, Counter)>,
}

impl RouteMetrics {
    pub(super) fn new(route: &Arc<str>, families: &Families) -> Self {
        let labels = RouteLabels { route: Arc::clone(route) };
        Self {
            in_flight: families.in_flight.get_or_create_owned(&labels),
            intake_paused: families.intake_paused.get_or_create_owned(&labels),
            held: families.held.get_or_create_owned(&labels),
            waiting: families.waiting.get_or_create_owned(&labels),
            store_failures: families.store_failures.get_or_create_owned(&labels),
            settle_retries: families.settle_retries.get_or_create_owned(&labels),
            decision_time: families.decision_time.get_or_create_owned(&labels),
            handler_time: families.handler_time.get_or_create_owned(&labels),
            route: labels.route,
            error_kinds: ErrorKinds::default(),
            successes: OnceLock::new(),
        }
    }

    /// Records how long the policy took to decide, faults included.
    pub fn observe_decision(&self, took: Duration) {
        self.decision_time.observe(took.as_secs_f64());
    }

    /// Records how long one attempt of the handler took.
    pub fn observe_handler(&self, took: Duration) {
        self.handler_time.observe(took.as_secs_f64());
    }

    pub(super) fn count_success(&self, families: &Families, event: &'static str, subject: &Subject) {
        let counter = || {
            let labels = EventLabels {
                route: Arc::clone(&self.route),
                event,
                topic: Some(Arc::clone(&subject.source)),
                error_kind: None,
                destination: None,
            };
            families.events.get_or_create_owned(&labels)
        };
        let (source, successes) = self.successes.get_or_init(|| (Arc::clone(&subject.source), counter()));
        if *source == subject.source {
            successes.inc();
        } else {
            counter().inc();
        }
    }
}
