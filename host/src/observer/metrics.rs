//! Counters, gauges and histograms of the routes, in the Prometheus text format.

mod labels;
mod route;

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use prometheus_client::encoding::prometheus_text;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

use crate::event::{EventKind, Ruling, Subject};
use crate::timestamp::Timestamp;
use labels::{
    CandidateLabels, ChangeLabels, DepthLabels, EventLabels, FaultLabels, RouteLabels, SkipLabels, WhyLabels,
};
pub use route::RouteMetrics;

/// The content type of [`Metrics::encode`]'s text.
pub const CONTENT_TYPE: &str = prometheus_text::CONTENT_TYPE;

/// From a policy that answers at once to one that runs into a generous deadline.
const DECISION_SECONDS: [f64; 12] =
    [0.000_005, 0.000_01, 0.000_025, 0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.1];

/// From an in-process closure to a slow HTTP call.
const HANDLER_SECONDS: [f64; 12] = [0.000_1, 0.000_5, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0];

type HistogramFamily = Family<RouteLabels, Histogram>;

/// Counts spans that no collector gets.
#[derive(Debug, Clone)]
pub struct SpansLost(Family<WhyLabels, Counter>);

impl SpansLost {
    /// Adds so many spans, by what became of them, such as `queue-full`.
    pub fn count(&self, why: &'static str, spans: u64) {
        self.0.get_or_create(&WhyLabels { why }).inc_by(spans);
    }
}

/// Counts what goes into the journal, and what does not.
#[derive(Debug, Clone)]
pub struct JournalMetrics {
    written: Counter,
    lost: Family<WhyLabels, Counter>,
    size: Gauge,
    oldest: Gauge,
}

impl JournalMetrics {
    /// So many failures were recorded.
    pub fn written(&self, entries: u64) {
        self.written.inc_by(entries);
    }

    /// So much was not, for this reason: `queue-full`, `memory` or `file`.
    pub fn lost(&self, why: &'static str, records: u64) {
        self.lost.get_or_create(&WhyLabels { why }).inc_by(records);
    }

    /// The file has so many bytes.
    pub fn size(&self, bytes: u64) {
        self.size.set(i64::try_from(bytes).unwrap_or(i64::MAX));
    }

    /// The oldest failure in the file was at this time.
    pub fn oldest(&self, at: Option<Timestamp>) {
        self.oldest.set(at.map_or(0, |at| i64::try_from(at.0 / 1000).unwrap_or(i64::MAX)));
    }
}

/// Counts what one route's candidate says.
#[derive(Debug, Clone)]
pub struct CandidateMetrics {
    route: Arc<str>,
    mode: &'static str,
    decisions: Family<CandidateLabels, Counter>,
    changes: Family<ChangeLabels, Counter>,
    time: Histogram,
}

impl CandidateMetrics {
    /// It was asked, and answered so: `same`, `changed` or `fault`.
    pub fn decided(&self, result: &'static str, took: std::time::Duration) {
        self.count(result);
        self.time.observe(took.as_secs_f64());
    }

    /// It was not asked, since it was behind.
    pub fn skipped(&self) {
        self.count("skipped");
    }

    /// It said another action than the live policy.
    pub fn changed(&self, from: &'static str, to: &'static str) {
        self.changes.get_or_create(&ChangeLabels { route: Arc::clone(&self.route), from, to }).inc();
    }

    fn count(&self, result: &'static str) {
        let labels = CandidateLabels { route: Arc::clone(&self.route), mode: self.mode, result };
        self.decisions.get_or_create(&labels).inc();
    }
}

/// All metrics of one host.
pub struct Metrics {
    registry: Registry,
    families: Families,
    /// Replaced as a whole when a route is seen for the first time, so that looking one up takes no lock.
    routes: ArcSwap<HashMap<Arc<str>, Arc<RouteMetrics>>>,
}

/// The families, each shared with the registry.
struct Families {
    events: Family<EventLabels, Counter>,
    overrides: Family<RouteLabels, Counter>,
    policy_faults: Family<FaultLabels, Counter>,
    skipped: Family<SkipLabels, Counter>,
    spans_lost: Family<WhyLabels, Counter>,
    in_flight: Family<RouteLabels, Gauge>,
    intake_paused: Family<RouteLabels, Gauge>,
    held: Family<RouteLabels, Gauge>,
    waiting: Family<RouteLabels, Gauge>,
    store_failures: Family<RouteLabels, Counter>,
    settle_retries: Family<RouteLabels, Counter>,
    journal: JournalMetrics,
    candidate_decisions: Family<CandidateLabels, Counter>,
    candidate_changes: Family<ChangeLabels, Counter>,
    candidate_time: HistogramFamily,
    dead_letter_depth: Family<DepthLabels, Gauge>,
    decision_time: HistogramFamily,
    handler_time: HistogramFamily,
}

impl Metrics {
    pub(super) fn new() -> Self {
        let families = Families {
            events: Family::default(),
            overrides: Family::default(),
            policy_faults: Family::default(),
            skipped: Family::default(),
            spans_lost: Family::default(),
            in_flight: Family::default(),
            intake_paused: Family::default(),
            held: Family::default(),
            waiting: Family::default(),
            store_failures: Family::default(),
            settle_retries: Family::default(),
            journal: JournalMetrics {
                written: Counter::default(),
                lost: Family::default(),
                size: Gauge::default(),
                oldest: Gauge::default(),
            },
            candidate_decisions: Family::default(),
            candidate_changes: Family::default(),
            candidate_time: Family::new_with_constructor(|| Histogram::new(DECISION_SECONDS)),
            dead_letter_depth: Family::default(),
            decision_time: Family::new_with_constructor(|| Histogram::new(DECISION_SECONDS)),
            handler_time: Family::new_with_constructor(|| Histogram::new(HANDLER_SECONDS)),
        };
        let registry = families.registry();
        Self { registry, families, routes: ArcSwap::default() }
    }

    /// This route's gauges and histograms. Worth keeping by whoever sets them often.
    pub fn route(&self, route: &Arc<str>) -> Arc<RouteMetrics> {
        if let Some(known) = self.routes.load().get(route) {
            return Arc::clone(known);
        }
        let added = Arc::new(RouteMetrics::new(route, &self.families));
        self.routes.rcu(|routes| {
            let mut routes = HashMap::clone(routes);
            routes.entry(Arc::clone(route)).or_insert_with(|| Arc::clone(&added));
            routes
        });
        // Another thread may have been first: what is in the map is what everyone shares.
        self.routes.load().get(route).map_or(added, Arc::clone)
    }

    /// Sets how many messages a route's dead-letter queue has. One that is not known is not shown: an old number would
    /// look like a queue that nothing is added to.
    pub fn set_dead_letter_depth(&self, route: &Arc<str>, label: &str, topic: &str, depth: Option<u64>) {
        let labels = DepthLabels { route: Arc::clone(route), label: label.to_owned(), topic: topic.to_owned() };
        match depth {
            Some(depth) => {
                self.families.dead_letter_depth.get_or_create(&labels).set(i64::try_from(depth).unwrap_or(i64::MAX));
            }
            None => drop(self.families.dead_letter_depth.remove(&labels)),
        }
    }

    /// Where spans are counted that are not exported.
    #[must_use]
    pub fn spans_lost(&self) -> SpansLost {
        SpansLost(self.families.spans_lost.clone())
    }

    /// Where a route's candidate is counted.
    #[must_use]
    pub fn candidate(&self, route: &Arc<str>, mode: &'static str) -> CandidateMetrics {
        CandidateMetrics {
            route: Arc::clone(route),
            mode,
            decisions: self.families.candidate_decisions.clone(),
            changes: self.families.candidate_changes.clone(),
            time: self.families.candidate_time.get_or_create_owned(&RouteLabels { route: Arc::clone(route) }),
        }
    }

    /// Where the journal counts.
    #[must_use]
    pub fn journal(&self) -> JournalMetrics {
        self.families.journal.clone()
    }

    /// Every metric as text for a Prometheus scrape, of the type [`CONTENT_TYPE`].
    #[must_use]
    pub fn encode(&self) -> String {
        let mut text = String::new();
        prometheus_text::encode(&mut text, &self.registry).expect("writing to a string cannot fail");
        text
    }

    /// Counts an event.
    pub(super) fn count(&self, route: &Arc<str>, kind: &EventKind) {
        let event = kind.name();
        match kind {
            EventKind::Consumed { subject, error: None } => {
                self.with_route(route, |metrics| metrics.count_success(&self.families, event, subject));
            }
            EventKind::Consumed { subject, error: Some(error) } => {
                self.event(route, event, Some(subject), Some(&error.kind), None);
            }
            EventKind::RetryScheduled { subject, ruling, .. }
            | EventKind::Requeued { subject, ruling, .. }
            | EventKind::Parked { subject, ruling, .. }
            | EventKind::Dropped { subject, ruling } => self.ruled(route, event, subject, ruling, None),
            EventKind::Delayed { subject, ruling, tier, .. } => self.ruled(route, event, subject, ruling, Some(tier)),
            EventKind::DeadLettered { subject, ruling, topic } => {
                self.ruled(route, event, subject, ruling, Some(topic));
            }
            EventKind::PolicyFailed { subject, maker, fault } => {
                self.event(route, event, Some(subject), None, None);
                let policy = maker.as_ref().map(|maker| maker.policy.as_str().into());
                let labels = FaultLabels { route: Arc::clone(route), policy, fault: fault.kind.name() };
                self.families.policy_faults.get_or_create(&labels).inc();
            }
            EventKind::Skipped { subject, why } => {
                self.event(route, event, Some(subject), None, None);
                let labels = SkipLabels { route: Arc::clone(route), why: why.name() };
                self.families.skipped.get_or_create(&labels).inc();
            }
            // The target stays out of the labels: in `judge` mode messages name it, and it would be without bound.
            EventKind::PublishFailed { subject, .. } | EventKind::Released { subject, .. } => {
                self.event(route, event, Some(subject), None, None);
            }
            EventKind::PolicySwapped { .. } | EventKind::CandidateChanged { .. } => {
                self.event(route, event, None, None, None);
            }
        }
    }

    fn ruled(
        &self,
        route: &Arc<str>,
        event: &'static str,
        subject: &Subject,
        ruling: &Ruling,
        destination: Option<&str>,
    ) {
        self.event(route, event, Some(subject), Some(&ruling.error_kind), destination);
        if ruling.overridden.is_some() {
            self.families.overrides.get_or_create(&RouteLabels { route: Arc::clone(route) }).inc();
        }
    }

    fn event(
        &self,
        route: &Arc<str>,
        event: &'static str,
        subject: Option<&Subject>,
        error_kind: Option<&str>,
        destination: Option<&str>,
    ) {
        let error_kind = error_kind.map(|kind| self.with_route(route, |metrics| metrics.error_kinds.bounded(kind)));
        let labels = EventLabels {
            route: Arc::clone(route),
            event,
            topic: subject.map(|subject| Arc::clone(&subject.source)),
            error_kind,
            destination: destination.map(Into::into),
        };
        self.families.events.get_or_create(&labels).inc();
    }

    /// Runs `work` on the route's metrics without counting a reference where the route is known.
    fn with_route<T>(&self, route: &Arc<str>, work: impl FnOnce(&RouteMetrics) -> T) -> T {
        match self.routes.load().get(route) {
            Some(known) => work(known),
            None => work(&self.route(route)),
        }
    }
}

impl Families {
    fn registry(&self) -> Registry {
        let mut registry = Registry::with_prefix("reprieve");
        registry.register("build", "The running program", Info::new([("version", env!("CARGO_PKG_VERSION"))]));
        registry.register(
            "events",
            "What happened to messages, by the topic that they came from, the kind of their error, and the tier or \
             dead-letter topic that they went to",
            self.events.clone(),
        );
        registry.register("overrides", "Outcomes that differ from the policy's verdict", self.overrides.clone());
        registry.register("policy_faults", "Decisions that a policy failed to make", self.policy_faults.clone());
        registry.register(
            "skipped",
            "Deliveries that were acknowledged without an attempt, by how the host knew that they were dealt with",
            self.skipped.clone(),
        );
        registry.register(
            "spans_lost",
            "Spans that the collector does not have: the queue was full, exporting failed, or it rejected them",
            self.spans_lost.clone(),
        );
        registry.register("in_flight", "Deliveries that hold a slot of the route", self.in_flight.clone());
        registry.register("intake_paused", "1 while the route takes no new messages", self.intake_paused.clone());
        registry.register("held", "Deliveries whose outcome could not be published yet", self.held.clone());
        registry.register(
            "waiting",
            "Deliveries that wait, without a slot, for another one of their key to end",
            self.waiting.clone(),
        );
        registry.register(
            "store_failures",
            "Times that the store could not tell or take up what was handled, so that a duplicate may run",
            self.store_failures.clone(),
        );
        registry.register(
            "settle_retries",
            "Acks and hand-backs that the broker did not take, or did not answer, so that they are tried again",
            self.settle_retries.clone(),
        );
        let JournalMetrics { written, lost, size, oldest } = self.journal.clone();
        registry.register(
            "candidate_decisions",
            "Failures that a candidate policy was asked about, by how it compares with the live one; skipped where a shadow was \
             behind",
            self.candidate_decisions.clone(),
        );
        registry.register(
            "candidate_changes",
            "Verdicts of candidates whose action differs from the live policy's",
            self.candidate_changes.clone(),
        );
        let candidate_time = self.candidate_time.clone();
        registry.register_with_unit(
            "candidate_time",
            "Time that a candidate's verdict took",
            Unit::Seconds,
            candidate_time,
        );
        registry.register("journal_entries", "Failures that were recorded in the journal", written);
        registry.register(
            "journal_lost",
            "Records that are not in the journal: the queue was full, bodies took too much memory, or the file could not be \
             written",
            lost,
        );
        registry.register_with_unit(
            "journal_oldest_timestamp",
            "When the oldest failure in the journal was, in seconds since 1970; 0 where there is none",
            Unit::Seconds,
            oldest,
        );
        registry.register_with_unit("journal_size", "Size of the journal's file", Unit::Bytes, size);
        registry.register(
            "dead_letter_depth",
            "Messages that are ready in a dead-letter queue; absent while that is not known",
            self.dead_letter_depth.clone(),
        );
        let decision_time = self.decision_time.clone();
        registry.register_with_unit("decision_time", "Time that a verdict took", Unit::Seconds, decision_time);
        let handler_time = self.handler_time.clone();
        registry.register_with_unit("handler_time", "Time that an attempt took", Unit::Seconds, handler_time);
        registry
    }
}
