//! Whole routes on a real broker: what they settle, and what is left of it when a connection dies.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use lapin::BasicProperties;
use lapin::types::AMQPValue;
use reprieve::broker::rabbitmq::{RabbitMq, RabbitMqSettings};
use reprieve::event::EventKind;
use reprieve::failure::Failure;
use reprieve::handler::{Call, Handler};
use reprieve::handler_error::HandlerError;
use reprieve::observer::Observer;
use reprieve::route::{Judge, Phase, Route, RouteSpec, RouteWork, Shutdown};
use reprieve::verdict::{Action, Decision, Verdict};
use reprieve_tests::rabbitmq::{Method, Proxy, Sandbox};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::within;

type Outcome = Result<(), HandlerError>;

/// Says that an attempt has begun, and ends it as the test says.
struct Asks(mpsc::UnboundedSender<(Call, oneshot::Sender<Outcome>)>);

#[async_trait]
impl Handler for Asks {
    async fn handle(&self, call: &Call) -> Outcome {
        let (answer, answered) = oneshot::channel();
        self.0.send((call.clone(), answer)).expect("the test waits");
        answered.await.unwrap_or_else(|_| Err(HandlerError::new("x", "the test does not care")))
    }
}

/// Gives its verdicts in order.
struct Script(Mutex<VecDeque<Action>>);

#[async_trait]
impl Judge for Script {
    async fn decide(&self, _: &Arc<Failure>) -> Decision {
        let action = self.0.lock().unwrap().pop_front().expect("a verdict for each failure");
        Decision { maker: None, result: Ok(Verdict::new(action, "scripted")) }
    }

    async fn ready(&self) {}
}

struct Running {
    attempts: mpsc::UnboundedReceiver<(Call, oneshot::Sender<Outcome>)>,
    observer: Observer,
    route: Arc<Route>,
    shutdown: Shutdown,
    task: JoinHandle<()>,
}

impl Running {
    async fn start(url: &str, source: &str, verdicts: &[Action], change: impl FnOnce(&mut RouteSpec)) -> Self {
        let broker = Arc::new(RabbitMq::new(&RabbitMqSettings::new("main", url)).unwrap());
        let (asked, attempts) = mpsc::unbounded_channel();
        let work = RouteWork::Handle { handler: Arc::new(Asks(asked)), timeout: Duration::from_secs(30) };
        let mut spec = RouteSpec::new("orders", source, broker, work);
        spec.concurrency = 2;
        change(&mut spec);
        let script = Arc::new(Script(Mutex::new(verdicts.iter().cloned().collect())));
        let (observer, shutdown) = (Observer::new(), Shutdown::default());
        let route = Arc::new(Route::new(spec, script, observer.clone(), shutdown.clone()));
        let task = tokio::spawn(Arc::clone(&route).run());
        within(route.state().wait_for(|phase| matches!(phase, Phase::Consuming { .. }))).await;
        Self { attempts, observer, route, shutdown, task }
    }

    /// The next attempt that begins, which goes on until it is answered.
    async fn attempt(&mut self) -> (Call, oneshot::Sender<Outcome>) {
        within(self.attempts.recv()).await.expect("the route runs")
    }

    async fn succeed(&mut self) -> Call {
        let (call, answer) = self.attempt().await;
        answer.send(Ok(())).expect("the attempt goes on");
        call
    }

    async fn fail(&mut self, error: HandlerError) -> Call {
        let (call, answer) = self.attempt().await;
        answer.send(Err(error)).expect("the attempt goes on");
        call
    }

    fn skipped(&self) -> Option<String> {
        let metrics = self.observer.metrics().encode();
        let line = metrics.lines().find(|line| line.starts_with("reprieve_skipped_total"))?;
        Some(line.rsplit(' ').next()?.to_owned())
    }

    async fn stop(mut self) {
        self.shutdown.drain.cancel();
        within(&mut self.task).await.expect("it ends in order");
        assert!(self.attempts.try_recv().is_err(), "an attempt that the test does not know of");
    }
}

fn with_id(id: &str) -> BasicProperties {
    BasicProperties::default().with_message_id(id.into())
}

/// Waits for an event of this name, for up to ten seconds.
async fn event(events: &mut tokio::sync::broadcast::Receiver<Arc<reprieve::event::Event>>, name: &str) -> EventKind {
    within(async {
        loop {
            let event = events.recv().await.expect("few events");
            if event.kind.name() == name {
                return event.kind.clone();
            }
        }
    })
    .await
}

#[tokio::test]
async fn a_message_whose_ack_never_arrived_is_acknowledged_unrun_when_it_comes_back() {
    for kind in ["classic", "quorum"] {
        let sandbox = Sandbox::new().await;
        let source = sandbox.queue("source", &[("x-queue-type", AMQPValue::LongString(kind.into()))]).await;
        let proxy = Proxy::start().await;
        let mut running = Running::start(&proxy.url(), &source, &[], |_| {}).await;
        let mut events = running.observer.subscribe();

        sandbox.put(&source, b"body", with_id("m1")).await;
        let (_, answer) = running.attempt().await;
        proxy.swallow_from(Method::ACK);
        answer.send(Ok(())).unwrap();
        proxy.has_swallowed(Method::ACK).await;
        proxy.cut();

        assert!(
            matches!(event(&mut events, "skipped").await, EventKind::Skipped { subject, .. } if subject.id.as_deref() == Some("m1"))
        );
        sandbox.put(&source, b"next", with_id("m2")).await;
        assert_eq!(running.succeed().await.message.id.as_deref(), Some("m2"), "{kind}: m1 is not run again");
        assert_eq!(running.skipped().as_deref(), Some("1"));
        running.stop().await;
        sandbox.wait_for_count(&source, 0).await;
    }
}

#[tokio::test]
async fn a_message_that_is_sent_twice_is_handled_twice_though_an_ack_of_it_is_in_doubt() {
    let sandbox = Sandbox::new().await;
    let source = sandbox.queue("source", &[]).await;
    let proxy = Proxy::start().await;
    let mut running = Running::start(&proxy.url(), &source, &[], |_| {}).await;
    let mut events = running.observer.subscribe();

    sandbox.put(&source, b"body", with_id("m1")).await;
    running.succeed().await;
    event(&mut events, "consumed").await;
    while proxy.count(Method::ACK) == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    proxy.cut();
    // One that the broker still hands to the old consumer would be redelivered, and no more be told from the first.
    within(running.route.state().wait_for(|phase| matches!(phase, Phase::Connecting { .. }))).await;
    within(running.route.state().wait_for(|phase| matches!(phase, Phase::Consuming { .. }))).await;
    sandbox.put(&source, b"body", with_id("m1")).await;
    let call = running.succeed().await;
    assert!(!call.redelivered);
    running.stop().await;
    sandbox.wait_for_count(&source, 0).await;
}

#[tokio::test]
async fn what_failed_is_rejected_and_what_was_not_processed_is_handed_back_with_a_nack() {
    let sandbox = Sandbox::new().await;
    let text = |text: &str| AMQPValue::LongString(text.into());
    // Without a dead-letter exchange nothing would be handed back: a limit could make the broker throw it away.
    let arguments = [("x-queue-type", text("quorum")), ("x-dead-letter-exchange", text("amq.fanout"))];
    let source = sandbox.queue("source", &arguments).await;
    let proxy = Proxy::start().await;
    let verdicts = [Action::Requeue { cooldown_ms: None }, Action::Retry { delay_ms: 60_000 }];
    let mut running =
        Running::start(&proxy.url(), &source, &verdicts, |spec| spec.requeue.initial = Duration::from_millis(1)).await;
    let mut events = running.observer.subscribe();

    sandbox.put(&source, b"body", with_id("m1")).await;
    running.fail(HandlerError::new("x", "no")).await;
    let (call, answer) = running.attempt().await;
    assert_eq!((call.attempt, call.redelivered), (2, true), "the count is ours");
    assert_eq!(call.message.headers.get("x-delivery-count").and_then(|count| count.as_i64()), Some(1));
    assert_eq!((proxy.count(Method::REJECT), proxy.count(Method::NACK)), (1, 0), "a failure");

    answer.send(Err(HandlerError::new("x", "no"))).unwrap();
    event(&mut events, "retry-scheduled").await;
    running.stop().await;
    sandbox.wait_for_count(&source, 1).await;
    assert_eq!((proxy.count(Method::REJECT), proxy.count(Method::NACK)), (1, 1), "a sleeper at shutdown");
    assert_eq!(proxy.count(Method::ACK), 0);
}

#[tokio::test]
async fn an_error_of_any_length_and_headers_of_any_size_end_in_a_dead_letter_that_can_be_read() {
    let sandbox = Sandbox::new().await;
    let (source, letters) = (sandbox.queue("source", &[]).await, sandbox.queue("letters", &[]).await);
    let dead_letter = Action::DeadLetter { label: None };
    let mut running = Running::start(&reprieve_tests::rabbitmq::url(), &source, &vec![dead_letter; 3], |spec| {
        spec.dead_letters.insert("default".to_owned(), letters.as_str().into());
    })
    .await;

    let frame = 131_072;
    // One that leaves room, and one that leaves none: the broker took it without our headers.
    for (id, size, others) in [("plain", 10, 0), ("large", 100_000, 200), ("full", frame - 250, 0)] {
        let mut headers = lapin::types::FieldTable::default();
        headers.insert("big".into(), AMQPValue::LongString("h".repeat(size).into()));
        for other in 0..others {
            headers.insert(format!("other-{other}").into(), AMQPValue::LongLongInt(other));
        }
        sandbox.put(&source, b"body", with_id(id).with_headers(headers)).await;
        running.fail(HandlerError::new("exploded", format!("it began with this{}", "…".repeat(100_000)))).await;

        let letter = sandbox.take(&letters).await;
        assert_eq!(letter.data, b"body");
        assert_eq!(letter.properties.message_id().as_ref().map(|id| id.as_str()), Some(id));
        let headers = letter.properties.headers().as_ref().expect("headers");
        let text = |name: &str| match headers.inner().get(name) {
            Some(AMQPValue::LongString(text)) => text.to_string(),
            other => panic!("{id}: {name} is {other:?}"),
        };
        assert_eq!(text("reprieve-error-kind"), "exploded", "{id}");
        assert!(text("reprieve-error").starts_with("it began with this"), "{id}");
        assert!(text("reprieve-error").ends_with("(cut)") && text("reprieve-error").len() <= 4096, "{id}");
        assert_eq!(headers.inner().contains_key("big"), id != "full", "{id}: a sender's header is kept if it fits");
        assert_eq!(headers.inner().contains_key("other-199"), others == 200, "{id}");
    }
    running.stop().await;
    sandbox.wait_for_count(&source, 0).await;
}
