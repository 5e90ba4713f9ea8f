//! Traces of a host in this process, as a collector sees them: what stands under what, and what later attempts join.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use reprieve::broker::memory::{Depth, MemoryBroker};
use reprieve::handler::Call;
use reprieve::handler::closure::handler_fn;
use reprieve::handler_error::HandlerError;
use reprieve::host::{Host, HostSpec, HostedRoute};
use reprieve::message::Message;
use reprieve::route::{RouteSpec, RouteWork};
use reprieve::telemetry::{Telemetry, TelemetrySettings};
use reprieve::topic::Tier;
use reprieve_tests::collector::{Collector, Mood, Span, tree};

const SENDERS: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// What a handler was told of its trace.
type Told = Arc<Mutex<Vec<(Option<String>, Option<String>)>>>;

/// Plays messages through a route until each is dead-lettered or handled, and gives what the collector has then.
struct Play {
    broker: MemoryBroker,
    collector: Collector,
    told: Told,
}

impl Play {
    fn new(mood: Mood) -> Self {
        Self { broker: MemoryBroker::new(10_000), collector: Collector::start(mood), told: Told::default() }
    }

    /// A route on which an attempt fails until the one that is given; each wait is 20 ms.
    fn route(&self, succeeds: u32) -> RouteSpec {
        let told = Arc::clone(&self.told);
        let handler = handler_fn(move |call: Call| {
            let text = |text: Option<&str>| text.map(str::to_owned);
            told.lock().unwrap().push((text(call.traceparent()), text(call.tracestate())));
            let fails = call.attempt < succeeds;
            async move { if fails { Err(HandlerError::new("busy", "told to fail")) } else { Ok(()) } }
        });
        let work = RouteWork::Handle { handler: Arc::new(handler), timeout: Duration::from_secs(60) };
        let mut route = RouteSpec::new("orders", "orders", Arc::new(self.broker.clone()), work);
        route.retry.max_attempts = 3;
        route.retry.initial_delay = Duration::from_millis(20);
        route.retry.factor = 1.0;
        route.dead_letters.insert("default".to_owned(), "orders.dlq".into());
        route
    }

    /// The same, through tiers: nothing may wait in process.
    fn route_with_tiers(&self, succeeds: u32) -> RouteSpec {
        let tier = Tier { name: "30ms".to_owned(), delay: Duration::from_millis(30) };
        RouteSpec { tiers: vec![tier], max_retry_delay: Duration::from_millis(1), ..self.route(succeeds) }
    }

    async fn run(&self, route: RouteSpec, message: Message) -> Vec<Span> {
        let spec = HostSpec { routes: vec![HostedRoute::new(route)], ..HostSpec::default() };
        let settings = TelemetrySettings {
            otlp: self.collector.url().parse().unwrap(),
            headers: Default::default(),
            sample: 1.0,
            service_name: "orders".to_owned(),
        };
        let telemetry = Telemetry::start(settings, &spec.observer).unwrap();
        let host = Host::start(spec).await.unwrap();
        self.broker.publish_to("orders", message).unwrap();
        self.broker.wait_for("orders", |depth| depth == Depth::default()).await;
        host.shutdown().await;
        telemetry.end(Duration::from_secs(5)).await;
        self.collector.spans()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_failures_through_tiers_are_one_trace_under_the_sender() {
    let play = Play::new(Mood::Takes);
    let message = Message::new("{}").with_id("m").with_header("traceparent", SENDERS).with_header("tracestate", "v=1");
    let spans = play.run(play.route_with_tiers(9), message).await;
    insta::assert_snapshot!(tree(&spans), @"
    process orders! (consumer) attempt=1 error.type=busy verdict=delay outcome=delayed tier=30ms policy=standard reason=attempt 1 of 3 failed
      handle orders! (client) error.type=busy
      publish tier 30ms (producer)
    process orders! (consumer) attempt=2 error.type=busy verdict=delay outcome=delayed tier=30ms policy=standard reason=attempt 2 of 3 failed
      handle orders! (client) error.type=busy
      publish tier 30ms (producer)
    process orders! (consumer) attempt=3 error.type=busy verdict=dead-letter outcome=dead-lettered dead_letter.topic=orders.dlq policy=standard reason=attempt 3 of 3 failed
      handle orders! (client) error.type=busy
      publish orders.dlq (producer)
    ");
    assert!(spans.iter().all(|span| SENDERS.contains(&span.trace)));
    assert!(spans.iter().filter(|span| span.kind == "consumer").all(|span| SENDERS.contains(&span.parent)));
    let letter = &play.broker.drain("orders.dlq")[0];
    assert_eq!((letter.headers.text("traceparent"), letter.headers.text("tracestate")), (Some(SENDERS), Some("v=1")));

    let runs = spans.iter().filter(|span| span.kind == "client");
    let parents = runs.map(|span| (Some(format!("00-{}-{}-01", span.trace, span.id)), Some("v=1".to_owned())));
    assert_eq!(*play.told.lock().unwrap(), parents.collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn retries_in_process_without_a_sender_are_children_of_the_first_attempt() {
    let play = Play::new(Mood::Takes);
    let spans = play.run(play.route(3), Message::new("{}").with_id("m")).await;
    insta::assert_snapshot!(tree(&spans), @"
    process orders! (consumer) attempt=1 error.type=busy verdict=retry outcome=retry policy=standard reason=attempt 1 of 3 failed
      handle orders! (client) error.type=busy
      process orders! (consumer) attempt=2 error.type=busy verdict=retry outcome=retry policy=standard reason=attempt 2 of 3 failed
        handle orders! (client) error.type=busy
      process orders (consumer) attempt=3 outcome=succeeded
        handle orders (client)
    ");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attempts_after_a_tier_join_the_trace_that_the_first_began() {
    let play = Play::new(Mood::Takes);
    let spans = play.run(play.route_with_tiers(3), Message::new("{}").with_id("m")).await;
    insta::assert_snapshot!(tree(&spans), @"
    process orders! (consumer) attempt=1 error.type=busy verdict=delay outcome=delayed tier=30ms policy=standard reason=attempt 1 of 3 failed
      handle orders! (client) error.type=busy
      publish tier 30ms (producer)
      process orders! (consumer) attempt=2 error.type=busy verdict=delay outcome=delayed tier=30ms policy=standard reason=attempt 2 of 3 failed
        handle orders! (client) error.type=busy
        publish tier 30ms (producer)
      process orders (consumer) attempt=3 outcome=succeeded
        handle orders (client)
    ");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_collector_that_is_down_costs_spans_and_no_message() {
    let play = Play::new(Mood::Answers(500));
    assert!(play.run(play.route(9), Message::new("{}").with_id("m")).await.is_empty());
    assert_eq!(play.broker.depth("orders.dlq").ready, 1);
}
