//! Whole routes: what they settle, and what is left where leases and replies are lost.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use reprieve::broker::narad::Narad;
use reprieve::failure::Failure;
use reprieve::handler::{Call, Handler};
use reprieve::handler_error::HandlerError;
use reprieve::message::HeaderValue;
use reprieve::observer::Observer;
use reprieve::route::{Judge, Phase, Route, RouteSpec, RouteWork, Shutdown};
use reprieve::verdict::{Action, Decision, Verdict};
use reprieve_tests::narad::{Cluster, Fault, On};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::{settings, tier, within};

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
    shutdown: Shutdown,
    task: JoinHandle<()>,
}

impl Running {
    async fn start(cluster: &Cluster, verdicts: &[Action]) -> Self {
        let broker = Arc::new(Narad::new(settings(cluster)).unwrap());
        let (asked, attempts) = mpsc::unbounded_channel();
        let work = RouteWork::Handle { handler: Arc::new(Asks(asked)), timeout: Duration::from_secs(30) };
        let mut spec = RouteSpec::new("orders", "orders", broker, work);
        spec.concurrency = 2;
        spec.tiers = vec![tier(300)];
        spec.dead_letters.insert("default".to_owned(), "orders.dlq".into());
        spec.dead_letters.insert("invalid".to_owned(), "orders.invalid".into());
        let script = Arc::new(Script(Mutex::new(verdicts.iter().cloned().collect())));
        let (observer, shutdown) = (Observer::new(), Shutdown::default());
        let route = Arc::new(Route::new(spec, script, observer.clone(), shutdown.clone()));
        let task = tokio::spawn(Arc::clone(&route).run());
        within(route.state().wait_for(|phase| matches!(phase, Phase::Consuming { .. }))).await;
        Self { attempts, observer, shutdown, task }
    }

    /// The next attempt that begins, which goes on until it is answered.
    async fn attempt(&mut self) -> (Call, oneshot::Sender<Outcome>) {
        within(self.attempts.recv()).await.expect("the route runs")
    }

    async fn end(&mut self, outcome: Outcome) -> Call {
        let (call, answer) = self.attempt().await;
        answer.send(outcome).expect("the attempt goes on");
        call
    }

    fn metric(&self, name: &str) -> Option<f64> {
        let metrics = self.observer.metrics().encode();
        let line = metrics.lines().find(|line| line.starts_with(name))?;
        line.rsplit(' ').next()?.parse().ok()
    }

    async fn stop(mut self) {
        self.shutdown.drain.cancel();
        within(&mut self.task).await.expect("it ends in order");
        assert!(self.attempts.try_recv().is_err(), "an attempt that the test does not know of");
    }
}

fn error() -> Outcome {
    Err(HandlerError::new("http-503", "unavailable"))
}

async fn cluster(visibility: Duration) -> Cluster {
    let cluster = Cluster::one().await;
    cluster.create_with("orders", visibility, Duration::from_secs(86_400));
    cluster
}

const MINUTE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn attempts_are_counted_through_a_tier_and_the_dead_letter_says_what_happened() {
    let cluster = cluster(MINUTE).await;
    let dead_letter = Action::DeadLetter { label: Some("invalid".to_owned()) };
    let mut route = Running::start(&cluster, &[Action::DelayTo { tier: "300ms".to_owned() }, dead_letter]).await;
    cluster.produce("orders", r#"{"order_id": "o-1"}"#);
    assert_eq!(route.end(error()).await.attempt, 1);
    let second = route.end(error()).await;
    assert_eq!(second.attempt, 2);
    assert_eq!(second.message.body.as_deref(), Some(&br#"{"order_id": "o-1"}"#[..]));
    cluster.until("it is dead", |cluster| !cluster.payloads("orders.invalid").is_empty()).await;
    route.stop().await;
    let letter = cluster.payloads("orders.invalid").remove(0);
    let letter = String::from_utf8(letter).unwrap();
    assert!(letter.starts_with(r#"{"payload":{"order_id": "o-1"},"delivery_count":2,"reprieve":{"#), "{letter}");
    assert!(letter.contains("http-503") && letter.contains("reprieve-origin-topic"), "{letter}");
    for empty in ["orders", "orders.dlq", "reprieve.tier.orders.300ms.run"] {
        assert!(cluster.payloads(empty).is_empty(), "{empty}");
    }
}

#[tokio::test]
async fn a_retry_in_process_keeps_its_lease_while_it_waits() {
    let cluster = cluster(Duration::from_millis(600)).await;
    let mut route = Running::start(&cluster, &[Action::Retry { delay_ms: 2000 }]).await;
    cluster.produce("orders", "m");
    route.end(error()).await;
    let second = route.end(Ok(())).await;
    assert_eq!((second.attempt, second.redelivered), (2, false));
    cluster.until("it is settled", |cluster| cluster.payloads("orders").is_empty()).await;
    route.stop().await;
}

#[tokio::test]
async fn acks_whose_replies_are_lost_are_retried_counted_and_run_nothing_again() {
    let cluster = cluster(MINUTE).await;
    let mut route = Running::start(&cluster, &[]).await;
    cluster.fail(On::Ack, 1, Fault::LoseReply);
    cluster.fail(On::Ack, 1, Fault::plain(503));
    cluster.produce("orders", "m");
    route.end(Ok(())).await;
    cluster.until("it is settled", |cluster| cluster.seen(On::Ack).len() == 3).await;
    assert!(cluster.payloads("orders").is_empty());
    within(async {
        while route.metric("reprieve_in_flight") != Some(0.0) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    assert_eq!(route.metric("reprieve_settle_retries_total"), Some(2.0));
    route.stop().await;
}

#[tokio::test]
async fn a_lease_that_is_lost_is_an_interruption_and_not_a_failure() {
    let cluster = cluster(Duration::from_millis(600)).await;
    let mut route = Running::start(&cluster, &[]).await;
    cluster.produce("orders", "m");
    let (first, _held) = route.attempt().await;
    cluster.forget_leases();
    // No verdict is scripted: whoever asked for one would end the test.
    let second = route.end(Ok(())).await;
    assert_eq!(first.message, second.message);
    assert_eq!((second.attempt, second.redelivered), (2, true));
    cluster.until("it is settled", |cluster| cluster.payloads("orders").is_empty()).await;
    drop(_held);
    route.stop().await;
}

#[tokio::test]
async fn an_outcome_that_was_durable_when_the_lease_was_lost_is_not_reached_twice() {
    let cluster = cluster(MINUTE).await;
    let dead_letter = Action::DeadLetter { label: None };
    let mut route = Running::start(&cluster, &[dead_letter]).await;
    cluster.produce("orders", "m");
    cluster.fail(On::Ack, 1, Fault::status(410));
    route.end(error()).await;
    // The stand-in did nothing when it said that the lease was gone.
    cluster.until("it is dead", |cluster| !cluster.payloads("orders.dlq").is_empty()).await;
    cluster.until("the ack is refused", |cluster| cluster.seen(On::Ack).len() == 1).await;
    cluster.forget_leases();
    cluster.until("it is settled unrun", |cluster| cluster.payloads("orders").is_empty()).await;
    assert_eq!(cluster.payloads("orders.dlq").len(), 1);
    route.stop().await;
}

#[tokio::test]
async fn the_copy_is_published_before_the_original_is_acked() {
    let cluster = cluster(MINUTE).await;
    let mut route = Running::start(&cluster, &[Action::DeadLetter { label: None }]).await;
    cluster.fail(On::Produce, 2, Fault::plain(503));
    cluster.produce("orders", "m");
    route.end(error()).await;
    cluster.until("a publish fails", |cluster| cluster.seen(On::Produce).iter().any(|seen| seen.status == 503)).await;
    assert!(cluster.seen(On::Ack).is_empty());
    cluster.until("it is dead", |cluster| !cluster.payloads("orders.dlq").is_empty()).await;
    cluster.until("it is settled", |cluster| cluster.payloads("orders").is_empty()).await;
    route.stop().await;
}

#[tokio::test]
async fn at_a_stop_what_waits_is_given_back_uncounted() {
    let cluster = cluster(MINUTE).await;
    let mut route = Running::start(&cluster, &[Action::Retry { delay_ms: 50_000 }]).await;
    cluster.produce("orders", "m");
    route.end(error()).await;
    cluster.until("it waits", |cluster| cluster.leased("orders") == 1).await;
    route.stop().await;
    assert_eq!((cluster.leased("orders"), cluster.payloads("orders").len()), (0, 1));
    assert!(cluster.seen(On::Produce).is_empty());
}

#[tokio::test]
async fn a_requeue_goes_back_to_the_node_and_comes_again() {
    let cluster = cluster(MINUTE).await;
    let mut route = Running::start(&cluster, &[Action::Requeue { cooldown_ms: Some(50) }]).await;
    cluster.produce("orders", "m");
    route.end(error()).await;
    let second = route.end(Ok(())).await;
    assert_eq!((second.attempt, second.redelivered), (2, true));
    assert_eq!(second.message.headers.get("reprieve-attempts"), None::<&HeaderValue>);
    route.stop().await;
}
