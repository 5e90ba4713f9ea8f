//! A route on the memory broker, judged by scripts: what the driver adds to the machine.

mod shutdown_order;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;

use super::{Judge, Phase, Route, RouteSpec, RouteWork, Shutdown};
use crate::broker::memory::MemoryBroker;
use crate::event::EventKind;
use crate::failure::Failure;
use crate::handler::Call;
use crate::handler::closure::handler_fn;
use crate::handler_error::HandlerError;
use crate::message::{HeaderValue, Message};
use crate::observer::Observer;
use crate::timestamp::Timestamp;
use crate::topic::Tier;
use crate::verdict::{Action, Decision, Verdict};

/// Gives its verdicts in order, the last one for ever.
pub(super) struct Script(Mutex<VecDeque<Verdict>>);

impl Script {
    pub(super) fn new(actions: impl IntoIterator<Item = Action>) -> Arc<Self> {
        Arc::new(Self(Mutex::new(actions.into_iter().map(|action| Verdict::new(action, "scripted")).collect())))
    }
}

#[async_trait]
impl Judge for Script {
    async fn decide(&self, _: &Arc<Failure>) -> Decision {
        let mut script = self.0.lock().unwrap();
        let verdict = if script.len() > 1 { script.pop_front() } else { script.front().cloned() };
        Decision { maker: None, result: Ok(verdict.expect("a script has at least one verdict")) }
    }

    async fn ready(&self) {}
}

pub(super) struct Running {
    pub(super) broker: MemoryBroker,
    pub(super) observer: Observer,
    route: Arc<Route>,
    pub(super) shutdown: Shutdown,
    task: tokio::task::JoinHandle<()>,
}

impl Running {
    async fn start(judge: Arc<dyn Judge>, handler: RouteWork, change: impl FnOnce(&mut RouteSpec)) -> Self {
        Self::start_on(MemoryBroker::new(1000), judge, handler, change).await
    }

    pub(super) async fn start_on(
        broker: MemoryBroker,
        judge: Arc<dyn Judge>,
        handler: RouteWork,
        change: impl FnOnce(&mut RouteSpec),
    ) -> Self {
        let mut spec = RouteSpec::new("orders", "orders", Arc::new(broker.clone()), handler);
        spec.tiers = vec![Tier { name: "30s".to_owned(), delay: Duration::from_secs(30) }];
        spec.dead_letters.insert("default".to_owned(), "orders.dlq".into());
        change(&mut spec);
        let shutdown = Shutdown::default();
        let (begin, start) = (Timestamp::now(), tokio::time::Instant::now());
        let clock = Arc::new(move || begin.after(start.elapsed()));
        let observer = Observer::new();
        let route = Arc::new(Route::new(spec, judge, observer.clone(), shutdown.clone()).with_clock(clock));
        let task = tokio::spawn(Arc::clone(&route).run());
        route.state().wait_for(|phase| matches!(phase, Phase::Consuming { .. })).await;
        Self { broker, observer, route, shutdown, task }
    }

    pub(super) fn send(&self, id: &str) {
        self.broker.publish_to("orders", Message::new("body").with_id(id)).unwrap();
    }

    pub(super) async fn dead_letter(&self) -> Arc<Message> {
        // Of the test's own time: a message that never comes is a failure, not a test that hangs.
        let comes = self.broker.wait_for("orders.dlq", |depth| depth.ready > 0);
        tokio::time::timeout(Duration::from_secs(3600), comes).await.expect("a dead letter within the hour");
        self.broker.drain("orders.dlq").remove(0)
    }

    /// Waits until the source is empty and nothing of it is in work.
    pub(super) async fn quiet(&self) {
        self.broker.wait_for("orders", |depth| depth.ready == 0 && depth.unsettled == 0).await;
    }

    pub(super) async fn stop(self) {
        self.shutdown.drain.cancel();
        self.task.await.unwrap();
    }
}

fn always(kind: &'static str) -> RouteWork {
    work(handler_fn(move |_: Call| async move { Err::<(), _>(HandlerError::new(kind, "it failed")) }))
}

pub(super) fn work(handler: impl crate::handler::Handler) -> RouteWork {
    RouteWork::Handle { handler: Arc::new(handler), timeout: Duration::from_secs(10) }
}

pub(super) fn dead_letter() -> Action {
    Action::DeadLetter { label: None }
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_retried_delayed_and_dead_lettered_as_the_policy_says() {
    let script =
        Script::new([Action::Retry { delay_ms: 100 }, Action::DelayTo { tier: "30s".to_owned() }, dead_letter()]);
    let running = Running::start(script, always("x"), |_| {}).await;
    running.send("m1");
    let letter = running.dead_letter().await;
    assert_eq!(letter.id.as_deref(), Some("m1"));
    assert_eq!(letter.headers.get("reprieve-attempts"), Some(&HeaderValue::I64(3)));
    running.quiet().await;
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_hangs_is_timed_out_and_can_still_be_dead_lettered() {
    let hangs = work(handler_fn(|_: Call| std::future::pending::<Result<(), HandlerError>>()));
    let running = Running::start(Script::new([dead_letter()]), hangs, |_| {}).await;
    running.send("m1");
    assert_eq!(running.dead_letter().await.headers.text("reprieve-error-kind"), Some("timeout"));
    running.stop().await;
}

/// A handler that is no closure, so nothing of ours is around it.
struct Panics;

#[async_trait]
impl crate::handler::Handler for Panics {
    async fn handle(&self, _: &Call) -> Result<(), HandlerError> {
        panic!("no stock")
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_panics_has_failed() {
    let running = Running::start(Script::new([dead_letter()]), work(Panics), |spec| spec.concurrency = 1).await;
    for id in ["m1", "m2"] {
        running.send(id);
        let letter = running.dead_letter().await;
        assert_eq!(letter.headers.text("reprieve-error-kind"), Some("panic"));
        assert_eq!(letter.headers.text("reprieve-error"), Some("no stock"));
    }
    running.stop().await;
}

/// Panics once, then dead-letters.
struct PanicsOnce(AtomicU32);

#[async_trait]
impl Judge for PanicsOnce {
    async fn decide(&self, _: &Arc<Failure>) -> Decision {
        assert!(self.0.fetch_add(1, Ordering::SeqCst) > 0, "the first decision panics");
        Decision { maker: None, result: Ok(Verdict::new(dead_letter(), "scripted")) }
    }

    async fn ready(&self) {}
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_the_host_hands_the_message_back_and_frees_its_slot() {
    let judge = Arc::new(PanicsOnce(AtomicU32::new(0)));
    let running = Running::start(judge, always("x"), |spec| spec.concurrency = 1).await;
    let begin = tokio::time::Instant::now();
    running.send("m1");
    assert_eq!(running.dead_letter().await.id.as_deref(), Some("m1"));
    assert!(begin.elapsed() >= Duration::from_secs(60), "a panic that repeats itself must not spin");
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_waiting_retry_keeps_its_slot() {
    let begun = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&begun);
    let fails = work(handler_fn(move |_: Call| {
        count.fetch_add(1, Ordering::SeqCst);
        async { Err::<(), _>(HandlerError::new("x", "no")) }
    }));
    let script = Script::new([Action::Retry { delay_ms: 50_000 }]);
    let running = Running::start(script, fails, |spec| spec.concurrency = 2).await;
    for id in ["m1", "m2", "m3", "m4"] {
        running.send(id);
    }
    running.broker.wait_for("orders", |depth| depth.unsettled == 2).await;
    tokio::time::sleep(Duration::from_secs(40)).await;
    assert_eq!(begun.load(Ordering::SeqCst), 2, "two slots, both asleep");
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_dead_letter_topic_that_is_down_holds_the_delivery_and_pauses_intake_until_it_is_back() {
    let running = Running::start(Script::new([dead_letter()]), always("x"), |_| {}).await;
    running.broker.faults().fail("orders.dlq", 3);
    running.send("m1");
    let letter = running.dead_letter().await;
    assert_eq!(letter.id.as_deref(), Some("m1"));
    running.send("m2");
    assert_eq!(running.dead_letter().await.id.as_deref(), Some("m2"), "intake goes on by itself");
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_delivery_that_is_held_raises_the_alarm_for_as_long_as_it_is() {
    let running = Running::start(Script::new([dead_letter()]), always("x"), |_| {}).await;
    let held = || running.observer.metrics().route(&"orders".into()).held.get();
    running.broker.faults().fail("orders.dlq", 2);
    let mut events = running.observer.subscribe();
    running.send("m1");
    while !matches!(events.recv().await.unwrap().kind, EventKind::PublishFailed { .. }) {}
    assert_eq!(held(), 1);
    let pauses = running.route.pauses();
    assert!(pauses.len() == 1 && pauses[0].why.contains("orders.dlq"), "{pauses:?}");
    running.dead_letter().await;
    running.quiet().await;
    running.broker.wait_for("orders.dlq", |_| true).await;
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!((held(), running.route.pauses()), (0, vec![]));
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_outage_does_not_pause_intake_once_the_broker_has_taken_back_what_was_held() {
    let running = Running::start(Script::new([dead_letter()]), always("x"), |_| {}).await;
    running.broker.faults().fail("orders.dlq", 1);
    let mut events = running.observer.subscribe();
    running.send("m1");
    while !matches!(events.recv().await.unwrap().kind, EventKind::PublishFailed { .. }) {}
    let begin = tokio::time::Instant::now();
    running.broker.disconnect();
    assert_eq!(running.dead_letter().await.id.as_deref(), Some("m1"));
    assert!(begin.elapsed() < Duration::from_secs(5), "nobody tried any more: {:?}", begin.elapsed());
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_message_that_is_too_large_for_its_dead_letter_topic_is_parked_and_the_others_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let park = folder.path().join("parked");
    let running =
        Running::start(Script::new([dead_letter()]), always("x"), |spec| spec.park = Some(park.clone())).await;
    running.broker.faults().refuse_larger_than("orders.dlq", 2000);
    let body = "x".repeat(3000);
    running.broker.publish_to("orders", Message::new(body.clone()).with_id("large")).unwrap();
    running.quiet().await;
    running.send("small");
    assert_eq!(running.dead_letter().await.id.as_deref(), Some("small"));
    let mut files: Vec<_> = std::fs::read_dir(&park).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert_eq!(files.len(), 2, "{files:?}");
    assert_eq!(std::fs::read_to_string(&files[0]).unwrap(), body);
    assert!(std::fs::read_to_string(&files[1]).unwrap().contains("\"large\""));
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_message_that_cannot_be_parked_stays_with_the_broker() {
    let folder = tempfile::tempdir().unwrap();
    let park = folder.path().join("parked");
    std::fs::write(&park, "a file in the way").unwrap();
    let running =
        Running::start(Script::new([dead_letter()]), always("x"), |spec| spec.park = Some(park.clone())).await;
    running.broker.faults().refuse_larger_than("orders.dlq", 10);
    let mut events = running.observer.subscribe();
    running.broker.publish_to("orders", Message::new("x".repeat(30)).with_id("large")).unwrap();
    while !matches!(events.recv().await.unwrap().kind, EventKind::PublishFailed { .. }) {}
    assert_eq!(running.broker.depth("orders").unsettled, 1);
    std::fs::remove_file(&park).unwrap();
    running.quiet().await;
    assert_eq!(std::fs::read_dir(&park).unwrap().count(), 2, "it is parked as soon as it can be");
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_requeued_message_keeps_its_count_and_cools_down_longer_each_time() {
    let script =
        Script::new([Action::Requeue { cooldown_ms: None }, Action::Requeue { cooldown_ms: None }, dead_letter()]);
    let running = Running::start(script, always("x"), |_| {}).await;
    let begin = tokio::time::Instant::now();
    running.send("m1");
    let letter = running.dead_letter().await;
    assert_eq!(letter.headers.get("reprieve-attempts"), Some(&HeaderValue::I64(3)));
    assert!(begin.elapsed() >= Duration::from_secs(3), "one second, then two: {:?}", begin.elapsed());
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_success_whose_ack_was_lost_is_not_handled_twice() {
    let (enter, entered) = tokio::sync::oneshot::channel::<()>();
    let gate = Arc::new(tokio::sync::Notify::new());
    let runs = Arc::new(AtomicU32::new(0));
    let (enter, opened, count) = (Mutex::new(Some(enter)), Arc::clone(&gate), Arc::clone(&runs));
    let slow = work(handler_fn(move |_: Call| {
        count.fetch_add(1, Ordering::SeqCst);
        if let Some(enter) = enter.lock().unwrap().take() {
            enter.send(()).unwrap();
        }
        let opened = Arc::clone(&opened);
        async move {
            opened.notified().await;
            Ok::<(), HandlerError>(())
        }
    }));
    // One slot: the message is handed over again only after its first run has ended.
    let running = Running::start(Script::new([dead_letter()]), slow, |spec| spec.concurrency = 1).await;
    running.send("m1");
    entered.await.unwrap();
    running.broker.disconnect();
    gate.notify_one();
    running.quiet().await;
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn at_shutdown_handlers_finish_and_sleepers_go_back_uncounted() {
    let script = Script::new([Action::Retry { delay_ms: 60_000 }]);
    let running = Running::start(script, always("x"), |_| {}).await;
    running.send("m1");
    running.broker.wait_for("orders", |depth| depth.unsettled == 1).await;
    let broker = running.broker.clone();
    running.stop().await;
    let left = broker.drain("orders");
    assert_eq!(left.len(), 1);
    assert!(left[0].headers.is_empty(), "it is the sender's message, untouched");
    assert!(broker.drain("orders.dlq").is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_waits_for_the_handlers_that_run() {
    let gate = Arc::new(tokio::sync::Notify::new());
    let opened = Arc::clone(&gate);
    let slow = work(handler_fn(move |_: Call| {
        let opened = Arc::clone(&opened);
        async move {
            opened.notified().await;
            Ok::<(), HandlerError>(())
        }
    }));
    let running = Running::start(Script::new([dead_letter()]), slow, |_| {}).await;
    running.send("m1");
    running.broker.wait_for("orders", |depth| depth.unsettled == 1).await;
    running.shutdown.drain.cancel();
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(!running.task.is_finished(), "it does not stop over a running handler");
    gate.notify_one();
    let broker = running.broker.clone();
    running.task.await.unwrap();
    assert!(broker.drain("orders").is_empty(), "the success was acknowledged");
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_outlives_the_shutdown_is_stopped_and_its_message_goes_back() {
    let hangs = RouteWork::Handle {
        handler: Arc::new(handler_fn(|_: Call| std::future::pending::<Result<(), HandlerError>>())),
        timeout: Duration::from_secs(3600),
    };
    let running = Running::start(Script::new([dead_letter()]), hangs, |_| {}).await;
    running.send("m1");
    running.broker.wait_for("orders", |depth| depth.unsettled == 1).await;
    running.shutdown.drain.cancel();
    running.shutdown.abort.cancel();
    let broker = running.broker.clone();
    running.task.await.unwrap();
    assert_eq!(broker.drain("orders").len(), 1);
    assert!(broker.drain("orders.dlq").is_empty(), "cancelled is not failed");
}

#[tokio::test(start_paused = true)]
async fn a_policy_can_pause_intake() {
    let mut verdict = Verdict::new(dead_letter(), "scripted");
    verdict.pause_intake = Some(90_000);
    let script = Arc::new(Script(Mutex::new([verdict, Verdict::new(dead_letter(), "scripted")].into())));
    let running = Running::start(script, always("x"), |spec| spec.concurrency = 1).await;
    let begin = tokio::time::Instant::now();
    running.send("m1");
    running.dead_letter().await;
    running.send("m2");
    running.dead_letter().await;
    assert!(begin.elapsed() >= Duration::from_secs(90), "{:?}", begin.elapsed());
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_lost_connection_is_noticed_while_intake_is_paused() {
    let mut verdict = Verdict::new(dead_letter(), "scripted");
    verdict.pause_intake = Some(3_600_000);
    let running = Running::start(Arc::new(Script(Mutex::new([verdict].into()))), always("x"), |_| {}).await;
    let begin = tokio::time::Instant::now();
    running.send("m1");
    running.dead_letter().await;
    running.quiet().await;
    running.broker.disconnect();
    running.route.state().wait_for(|phase| matches!(phase, Phase::Connecting { .. })).await;
    assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", begin.elapsed());
    running.stop().await;
}
