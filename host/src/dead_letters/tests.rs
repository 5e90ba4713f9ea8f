mod hand_backs;

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::peek::{Peek, peek};
use super::redrive::{Done, Ended, Redrive, Skip, redrive};
use crate::broker::memory::MemoryBroker;
use crate::handler::Call;
use crate::handler::closure::handler_fn;
use crate::handler_error::HandlerError;
use crate::host::{Host, HostSpec, HostedRoute};
use crate::message::{HeaderValue, Message};
use crate::route::{RouteSpec, RouteWork};

const PREFIX: &str = "reprieve-";

fn letter(id: &str, kind: &str) -> Message {
    Message::new(format!("body of {id}"))
        .with_id(id)
        .with_header("tenant", HeaderValue::I16(7))
        .with_header("reprieve-attempts", 3u32)
        .with_header("reprieve-origin-topic", "orders")
        .with_header("reprieve-route", "orders")
        .with_header("reprieve-error-kind", kind)
        .with_header("reprieve-error", "it broke")
        .with_header("reprieve-failed-at", "2026-03-01T10:00:00.000Z")
        .with_header("reprieve-first-failed-at", "2026-03-01T09:00:00.000Z")
        .with_header("reprieve-expires-at", "2026-03-01T10:05:00.000Z")
        .with_header("reprieve-expiration", "60000")
        .with_header("reprieve-origin-routing-key", "orders.eu")
}

/// A broker with an origin and these letters.
fn broker(letters: &[Message]) -> MemoryBroker {
    let broker = MemoryBroker::default();
    broker.publish_to("orders", Message::new("")).unwrap();
    drop(broker.drain("orders"));
    for letter in letters {
        broker.publish_to("dlq", letter.clone()).unwrap();
    }
    broker
}

fn three() -> MemoryBroker {
    broker(&[letter("1", "late"), letter("2", "invalid"), letter("3", "late")])
}

fn all() -> Redrive {
    Redrive {
        queue: "dlq".to_owned(),
        prefixes: vec![PREFIX.to_owned()],
        error_kind: None,
        max: None,
        interval: Duration::ZERO,
        max_redrives: 3,
        to: None,
        dry_run: false,
    }
}

async fn run(broker: &MemoryBroker, wanted: &Redrive) -> (Done, Ended) {
    redrive(broker, wanted, &CancellationToken::new(), |_| {}).await.unwrap()
}

fn ids(messages: &[Arc<Message>]) -> Vec<&str> {
    messages.iter().map(|message| message.id.as_deref().unwrap_or("none")).collect()
}

fn on(broker: &MemoryBroker, queue: &str) -> Vec<String> {
    ids(&broker.peek(queue, 100)).into_iter().map(str::to_owned).collect()
}

fn wanted(error_kind: Option<&str>, max: usize) -> Peek {
    Peek { queue: "dlq".to_owned(), prefixes: vec![PREFIX.to_owned()], error_kind: error_kind.map(str::to_owned), max }
}

#[tokio::test(start_paused = true)]
async fn peeking_shows_letters_and_leaves_them_in_their_order() {
    let broker = three();
    let seen = peek(&broker, &wanted(None, 2)).await.unwrap();
    let shown: Vec<_> = seen.letters.iter().map(|letter| letter.message.id.as_deref().unwrap()).collect();
    assert_eq!((shown, seen.depth), (vec!["1", "2"], 3));
    let story = seen.letters[0].story.as_ref().unwrap();
    assert_eq!((story.error_kind.as_str(), story.origin.as_str(), story.attempts), ("late", "orders", 3));
    assert_eq!(on(&broker, "dlq"), ["1", "2", "3"]);
}

#[tokio::test(start_paused = true)]
async fn peeking_by_error_kind_looks_behind_the_others() {
    let broker = three();
    let seen = peek(&broker, &wanted(Some("invalid"), 5)).await.unwrap();
    assert_eq!((seen.letters.len(), seen.looked_at), (1, 3));
    assert_eq!(on(&broker, "dlq"), ["1", "2", "3"]);
}

#[tokio::test(start_paused = true)]
async fn an_empty_queue_shows_nothing_and_a_missing_one_is_an_error() {
    let broker = three();
    drop(broker.drain("dlq"));
    assert_eq!(peek(&broker, &wanted(None, 2)).await.unwrap().depth, 0);
    let missing = Peek { queue: "nowhere".to_owned(), ..wanted(None, 2) };
    assert!(peek(&broker, &missing).await.unwrap_err().to_string().contains("no queue 'nowhere'"));
}

#[tokio::test(start_paused = true)]
async fn a_redriven_message_is_the_sender_s_with_its_counts_reset() {
    let broker = broker(&[letter("1", "late").with_header("x-delivery-count", 2u32)]);
    let (done, ended) = run(&broker, &all()).await;
    assert_eq!((done.total(), ended), (1, Ended::All));
    let [message] = &broker.drain("orders")[..] else { panic!("one message") };
    assert_eq!((message.id.as_deref(), message.body.as_deref()), (Some("1"), Some(&b"body of 1"[..])));
    let headers: Vec<_> = message.headers.iter().map(|(name, value)| (name, value.clone())).collect();
    assert_eq!(
        headers,
        [
            ("tenant", HeaderValue::I16(7)),
            ("reprieve-expiration", "60000".into()),
            ("reprieve-origin-routing-key", "orders.eu".into()),
            ("reprieve-redrives", 1u32.into()),
        ]
    );
    assert_eq!(broker.depth("dlq").ready + broker.depth("dlq").unsettled, 0);
}

#[tokio::test(start_paused = true)]
async fn letters_of_another_kind_stay_in_their_order() {
    let broker = three();
    let (done, _) = run(&broker, &Redrive { error_kind: Some("invalid".to_owned()), ..all() }).await;
    assert_eq!((done.total(), done.filtered), (1, 2));
    assert_eq!(
        (on(&broker, "orders"), on(&broker, "dlq")),
        (vec!["2".to_owned()], vec!["1".to_owned(), "3".to_owned()])
    );
}

#[tokio::test(start_paused = true)]
async fn no_more_than_asked_for_go_back() {
    let broker = three();
    let (done, ended) = run(&broker, &Redrive { max: Some(2), ..all() }).await;
    assert_eq!((done.total(), ended), (2, Ended::Max));
    assert_eq!(on(&broker, "dlq"), ["3"]);
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_tells_and_moves_nothing() {
    let broker = three();
    let (done, _) = run(&broker, &Redrive { dry_run: true, ..all() }).await;
    assert_eq!(done.redriven["orders"], 3);
    assert_eq!((on(&broker, "orders").len(), on(&broker, "dlq").len()), (0, 3));
}

#[tokio::test(start_paused = true)]
async fn a_letter_that_was_redriven_too_often_stays_and_is_named() {
    let broker = broker(&[letter("1", "late").with_header("reprieve-redrives", 3u32), letter("2", "late")]);
    let (done, _) = run(&broker, &all()).await;
    assert_eq!(done.skipped.len(), 1);
    assert_eq!((done.skipped[0].id.as_deref(), &done.skipped[0].why), (Some("1"), &Skip::RedrivenTooOften(3)));
    assert_eq!((on(&broker, "orders"), on(&broker, "dlq")), (vec!["2".to_owned()], vec!["1".to_owned()]));
}

#[tokio::test(start_paused = true)]
async fn a_letter_is_acknowledged_only_once_its_origin_has_it() {
    let broker = three();
    broker.faults().fail("orders", 1);
    let (done, ended) = run(&broker, &all()).await;
    assert!(matches!(ended, Ended::Stopped(_)), "{ended:?}");
    assert_eq!((done.total(), on(&broker, "dlq").len()), (0, 3));
}

#[tokio::test(start_paused = true)]
async fn a_letter_that_the_broker_refuses_does_not_stop_the_others() {
    let broker = three();
    broker.faults().refuse("orders", 1);
    let (done, ended) = run(&broker, &all()).await;
    assert_eq!((done.total(), ended), (2, Ended::All));
    assert!(matches!(done.skipped[0].why, Skip::Refused(_)));
    assert_eq!(on(&broker, "dlq"), ["1"]);
}

#[tokio::test(start_paused = true)]
async fn a_missing_origin_stops_with_a_cure_and_loses_nothing() {
    let broker = MemoryBroker::default();
    broker.publish_to("dlq", letter("1", "late")).unwrap();
    let (_, ended) = run(&broker, &all()).await;
    let Ended::Stopped(why) = ended else { panic!("{ended:?}") };
    assert!(why.contains("dead letter 1 belongs on 'orders'") && why.contains("--to"), "{why}");
    assert_eq!((on(&broker, "dlq"), broker.queues()), (vec!["1".to_owned()], vec!["dlq".to_owned()]));
}

#[tokio::test(start_paused = true)]
async fn what_comes_back_in_the_meantime_is_not_redriven_again() {
    let broker = three();
    // Each goes to the end of the queue that is being read.
    let (done, ended) = run(&broker, &Redrive { to: Some("dlq".to_owned()), ..all() }).await;
    assert_eq!((done.total(), ended), (3, Ended::All));
    assert_eq!(on(&broker, "dlq"), ["1", "2", "3"]);
    for message in broker.drain("dlq") {
        assert_eq!(message.headers.get("reprieve-redrives"), Some(&1u32.into()));
    }
}

#[tokio::test(start_paused = true)]
async fn letters_of_nobody_need_a_queue_to_go_to() {
    let foreign = Message::new("x").with_id("f").with_header("CC", HeaderValue::Array(vec!["other".into()]));
    let broker = broker(&[foreign]);
    let (done, _) = run(&broker, &all()).await;
    assert_eq!(done.skipped[0].why, Skip::NotOurs);
    let (done, _) = run(&broker, &Redrive { to: Some("orders".to_owned()), ..all() }).await;
    assert_eq!(done.total(), 1);
    let [message] = &broker.drain("orders")[..] else { panic!("one message") };
    assert_eq!(message.headers.get("CC"), None);
    assert_eq!(message.headers.get("reprieve-redrives"), Some(&1u32.into()));
}

#[tokio::test(start_paused = true)]
async fn an_interruption_hands_the_rest_back() {
    let broker = three();
    let stop = CancellationToken::new();
    let wanted = all();
    let first = |done: &Done| {
        if done.total() == 1 {
            stop.cancel();
        }
    };
    let (done, ended) = redrive(&broker, &wanted, &stop, first).await.unwrap();
    assert_eq!((done.total(), ended), (1, Ended::Interrupted));
    assert_eq!(
        (on(&broker, "orders"), on(&broker, "dlq")),
        (vec!["1".to_owned()], vec!["2".to_owned(), "3".to_owned()])
    );
}

#[tokio::test(start_paused = true)]
async fn letters_go_back_no_faster_than_asked_for() {
    let broker = three();
    let start = tokio::time::Instant::now();
    run(&broker, &Redrive { interval: Duration::from_secs(5), ..all() }).await;
    assert!(start.elapsed() >= Duration::from_secs(10), "{:?}", start.elapsed());
}

/// A host, from its failure to its next.
#[tokio::test(start_paused = true)]
async fn a_redriven_message_starts_at_attempt_one_and_its_next_dead_letter_carries_the_redrives() {
    let broker = MemoryBroker::default();
    let (seen, mut calls) = tokio::sync::mpsc::unbounded_channel();
    let handler = Arc::new(handler_fn(move |call: Call| {
        seen.send(call.attempt).unwrap();
        async { Err(HandlerError::new("late", "too late")) }
    }));
    let work = RouteWork::Handle { handler, timeout: Duration::from_secs(10) };
    let mut route = RouteSpec::new("orders", "orders", Arc::new(broker.clone()), work);
    route.dead_letters.insert("default".to_owned(), "dlq".into());
    route.retry.max_attempts = 2;
    let host = Host::start(HostSpec { routes: vec![HostedRoute::new(route)], ..HostSpec::default() }).await.unwrap();
    broker.publish_to("orders", Message::new("body").with_id("1")).unwrap();
    for redrives in 1..=2u32 {
        broker.wait_for("dlq", |depth| depth.ready == 1).await;
        assert_eq!((calls.recv().await, calls.recv().await), (Some(1), Some(2)));
        let (done, ended) = run(&broker, &all()).await;
        assert_eq!((done.total(), ended), (1, Ended::All));
        broker.wait_for("dlq", |depth| depth.ready == 1).await;
        let letter = broker.peek("dlq", 1).remove(0);
        assert_eq!(letter.headers.get("reprieve-redrives"), Some(&redrives.into()));
        assert_eq!(letter.headers.get("reprieve-attempts"), Some(&2u32.into()));
    }
    host.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_slow_redrive_goes_on_when_what_it_had_in_hand_was_due_back() {
    let broker = three();
    // The memory broker lets a delivery be held for ever, which is taken for a day.
    let (done, ended) = run(&broker, &Redrive { interval: Duration::from_secs(20 * 60 * 60), ..all() }).await;
    assert_eq!((done.total(), done.depth, ended), (3, 3, Ended::All));
    assert_eq!(on(&broker, "orders"), ["1", "2", "3"]);
}
