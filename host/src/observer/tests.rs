use super::*;
use crate::event::{Ruling, Subject};
use crate::handler_error::HandlerError;
use crate::verdict::{Action, Fault, FaultKind, Maker, Verdict};
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

fn route() -> Arc<str> {
    "orders".into()
}

fn subject() -> Subject {
    Subject { id: Some("m-1".into()), source: "orders-in".into(), attempt: 1 }
}

fn consumed(error: Option<HandlerError>) -> EventKind {
    EventKind::Consumed { subject: subject(), error }
}

fn failed(kind: &str) -> EventKind {
    consumed(Some(HandlerError::new(kind, "no answer")))
}

fn ruling(kind: &str, overridden: Option<&str>) -> Ruling {
    Ruling {
        error_kind: kind.into(),
        maker: Some(Maker { policy: "standard".into(), revision: "1f3870be274f6c49".into() }),
        verdict: Verdict::new(Action::Drop, "enough"),
        fault: None,
        overridden: overridden.map(Into::into),
    }
}

/// The lines of the metrics text that hold every one of these pieces.
fn lines(observer: &Observer, pieces: &[&str]) -> Vec<String> {
    let text = observer.metrics().encode();
    text.lines().filter(|line| pieces.iter().all(|piece| line.contains(piece))).map(str::to_owned).collect()
}

#[tokio::test]
async fn subscribers_get_each_event_with_its_route_and_time() {
    let observer = Observer::new();
    let mut events = observer.subscribe();
    let before = Timestamp::now();

    observer.clone().emit(&route(), consumed(None));

    let event = events.recv().await.unwrap();
    assert_eq!((&*event.route, &event.kind), ("orders", &consumed(None)));
    assert!(event.at >= before);
}

#[tokio::test]
async fn a_subscriber_sees_nothing_from_before_it_came() {
    let observer = Observer::new();
    observer.emit(&route(), consumed(None));
    let mut events = observer.subscribe();
    assert_eq!(events.try_recv(), Err(TryRecvError::Empty));
}

#[tokio::test]
async fn a_slow_subscriber_is_told_how_many_events_it_missed() {
    let observer = Observer::new();
    let mut events = observer.subscribe();
    for _ in 0..STREAM_CAPACITY + 3 {
        observer.emit(&route(), consumed(None));
    }
    assert_eq!(events.recv().await, Err(RecvError::Lagged(3)));
    assert!(events.recv().await.is_ok());
}

#[tokio::test]
async fn a_subscriber_misses_nothing_as_long_as_the_stream_has_room() {
    let observer = Observer::with_capacity(2 * STREAM_CAPACITY);
    let mut events = observer.subscribe();
    for _ in 0..2 * STREAM_CAPACITY {
        observer.emit(&route(), consumed(None));
    }
    assert!(events.recv().await.is_ok());
}

#[test]
fn a_subscriber_that_left_leaves_no_trace() {
    let observer = Observer::new();
    drop(observer.subscribe());
    observer.emit(&route(), consumed(None));
    let counted = lines(&observer, &["reprieve_events_total{", "consumed"]);
    assert_eq!(counted.len(), 1);
}

#[test]
fn successes_and_failures_are_counted_by_route_topic_and_error_kind() {
    let observer = Observer::new();
    observer.emit(&route(), consumed(None));
    observer.emit(&route(), consumed(None));
    observer.emit(&route(), failed("timeout"));

    let mut counted = lines(&observer, &["reprieve_events_total{"]);
    counted.sort();
    assert_eq!(
        counted,
        [
            r#"reprieve_events_total{route="orders",event="consumed",topic="orders-in",error_kind="",destination=""} 2"#,
            r#"reprieve_events_total{route="orders",event="consumed",topic="orders-in",error_kind="timeout",destination=""} 1"#,
        ]
    );
}

#[test]
fn a_second_source_of_one_route_has_a_counter_of_its_own() {
    let observer = Observer::new();
    observer.emit(&route(), consumed(None));
    let elsewhere = Subject { source: "returns".into(), ..subject() };
    observer.emit(&route(), EventKind::Consumed { subject: elsewhere, error: None });

    assert_eq!(lines(&observer, &["topic=\"orders-in\"", "} 1"]).len(), 1);
    assert_eq!(lines(&observer, &["topic=\"returns\"", "} 1"]).len(), 1);
}

#[test]
fn outcomes_name_the_tier_or_topic_that_the_message_went_to() {
    let observer = Observer::new();
    let ruling = ruling("timeout", None);
    let due = Timestamp(0);
    observer.emit(&route(), EventKind::Delayed { subject: subject(), ruling: ruling.clone(), tier: "30s".into(), due });
    observer.emit(&route(), EventKind::DeadLettered { subject: subject(), ruling, topic: "orders.dlq".into() });

    assert_eq!(lines(&observer, &["event=\"delayed\"", "destination=\"30s\"", "} 1"]).len(), 1);
    assert_eq!(lines(&observer, &["event=\"dead-lettered\"", "destination=\"orders.dlq\"", "} 1"]).len(), 1);
}

#[test]
fn overrides_and_policy_faults_are_counted_on_their_own() {
    let observer = Observer::new();
    let ruling = ruling("timeout", Some("no such tier"));
    let maker = ruling.maker.clone();
    observer.emit(&route(), EventKind::Dropped { subject: subject(), ruling });
    let fault = Fault::new(FaultKind::Trap, "unreachable");
    observer.emit(&route(), EventKind::PolicyFailed { subject: subject(), maker, fault });

    assert_eq!(lines(&observer, &["reprieve_overrides_total{route=\"orders\"} 1"]).len(), 1);
    let faults = r#"reprieve_policy_faults_total{route="orders",policy="standard",fault="trap"} 1"#;
    assert_eq!(lines(&observer, &[faults]).len(), 1);
}

#[test]
fn an_outcome_that_follows_its_verdict_is_no_override() {
    let observer = Observer::new();
    observer.emit(&route(), EventKind::Dropped { subject: subject(), ruling: ruling("timeout", None) });
    assert!(lines(&observer, &["reprieve_overrides_total{"]).is_empty());
}

#[test]
fn a_route_names_at_most_256_error_kinds_and_then_other() {
    let observer = Observer::new();
    for n in 0..300 {
        observer.emit(&route(), failed(&format!("kind-{n}")));
    }
    assert_eq!(lines(&observer, &["reprieve_events_total{", "error_kind=\"kind-"]).len(), 256);
    assert_eq!(lines(&observer, &["error_kind=\"other\"", "} 44"]).len(), 1);

    observer.emit(&"refunds".into(), failed("kind-299"));
    assert_eq!(lines(&observer, &["route=\"refunds\"", "error_kind=\"kind-299\""]).len(), 1);
}

#[test]
fn a_hostile_error_kind_cannot_break_the_metrics_text() {
    let observer = Observer::new();
    observer.emit(&route(), failed("a\"} 1\nreprieve_fake_total{x=\"\\"));
    let expected = r#"error_kind="a\"} 1\nreprieve_fake_total{x=\"\\""#;
    assert_eq!(lines(&observer, &[expected]).len(), 1);
    assert!(!observer.metrics().encode().lines().any(|line| line.starts_with("reprieve_fake_total")));
}

#[test]
fn gauges_and_times_are_the_route_drivers_to_set() {
    let observer = Observer::new();
    let metrics = observer.metrics().route(&route());
    metrics.in_flight.set(3);
    metrics.intake_paused.set(1);
    metrics.held.set(2);
    metrics.observe_decision(std::time::Duration::from_micros(8));
    metrics.observe_handler(std::time::Duration::from_millis(2));

    let same = observer.metrics().route(&route());
    assert!(Arc::ptr_eq(&metrics, &same));
    for line in [
        r#"reprieve_in_flight{route="orders"} 3"#,
        r#"reprieve_intake_paused{route="orders"} 1"#,
        r#"reprieve_held{route="orders"} 2"#,
        r#"reprieve_decision_time_seconds_count{route="orders"} 1"#,
        r#"reprieve_decision_time_seconds_bucket{route="orders",le="1e-05"} 1"#,
        r#"reprieve_handler_time_seconds_bucket{route="orders",le="0.005"} 1"#,
    ] {
        assert_eq!(lines(&observer, &[line]).len(), 1, "{line}");
    }
}

#[test]
fn routes_first_seen_by_many_threads_at_once_are_counted_once_each() {
    let observer = Observer::new();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..50).for_each(|n| observer.emit(&format!("route-{n}").into(), consumed(None))));
        }
    });
    assert_eq!(lines(&observer, &["reprieve_events_total{", "} 4"]).len(), 50);
}

/// A log in memory.
#[derive(Clone, Default)]
struct Log(Arc<std::sync::Mutex<Vec<u8>>>);

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// What is logged while `work` runs, from debug upwards.
fn logged(work: impl FnOnce()) -> String {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::DEBUG)
        .with_ansi(false)
        .without_time()
        .with_target(false)
        .with_writer({
            let log = log.clone();
            move || log.clone()
        })
        .finish();
    tracing::subscriber::with_default(subscriber, work);
    String::from_utf8(log.0.lock().unwrap().clone()).unwrap()
}

#[test]
fn a_success_is_logged_for_debugging_and_a_dropped_message_as_a_warning() {
    let observer = Observer::new();
    let log = logged(|| {
        observer.emit(&route(), consumed(None));
        observer.emit(&route(), EventKind::Dropped { subject: subject(), ruling: ruling("timeout", None) });
    });
    assert_eq!(
        log.lines().map(str::trim).collect::<Vec<_>>(),
        [
            r#"DEBUG consumed route="orders" id="m-1" source="orders-in" attempt=1"#,
            r#"WARN dropped route="orders" id="m-1" attempt=1 error_kind="timeout" policy=standard@1f3870be274f reason="enough""#,
        ]
    );
}

#[test]
fn an_override_is_logged_beside_the_policys_reason() {
    let observer = Observer::new();
    let ruling = ruling("timeout", Some("the route has no tier 1h"));
    let log = logged(|| {
        observer.emit(&route(), EventKind::DeadLettered { subject: subject(), ruling, topic: "orders.dlq".into() });
    });
    assert!(log.contains(r#"reason="enough" overridden="the route has no tier 1h" topic="orders.dlq""#), "{log}");
}
