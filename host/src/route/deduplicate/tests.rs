//! Which messages are handled again and which are not. In real time, since the store is a thread of its own.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::sync::Notify;

use super::Deduplicate;
use crate::broker::memory::MemoryBroker;
use crate::handler::Call;
use crate::handler::closure::handler_fn;
use crate::handler_error::HandlerError;
use crate::message::Message;
use crate::route::tests::{Running, Script, dead_letter, work};
use crate::route::{Judge, RouteSpec, RouteWork};
use crate::store::Store;
use crate::topic::Tier;
use crate::verdict::Action;

/// A handler that fails the first `failures` times, and the count of its runs.
fn failing_first(failures: u32) -> (RouteWork, Arc<AtomicU32>) {
    let runs = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&runs);
    let handler = handler_fn(move |_: Call| {
        let run = count.fetch_add(1, Ordering::SeqCst);
        async move { if run < failures { Err(HandlerError::new("x", "it failed")) } else { Ok(()) } }
    });
    (work(handler), runs)
}

fn by(source: &str, file: &Path) -> impl FnOnce(&mut RouteSpec) + use<> {
    let (by, store) = (source.parse().unwrap(), Store::new(file).unwrap());
    move |spec| {
        spec.deduplicate = Some(Deduplicate { by, window: Duration::from_secs(600), store });
        spec.tiers = vec![Tier { name: "50ms".to_owned(), delay: Duration::from_millis(50) }];
    }
}

async fn start(judge: Arc<dyn Judge>, work: RouteWork, change: impl FnOnce(&mut RouteSpec)) -> Running {
    Running::start_on(MemoryBroker::new(1000), judge, work, change).await
}

/// What `future` comes to, within ten seconds.
async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(10), future).await.expect("an end within ten seconds")
}

fn skipped(running: &Running) -> bool {
    running.observer.metrics().encode().contains("reprieve_skipped_total{route=\"orders\",why=\"duplicate\"}")
}

#[tokio::test]
async fn a_message_that_was_handled_is_acknowledged_unrun_also_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state/host.db");
    let (handler, runs) = failing_first(0);
    let running = start(Script::new([dead_letter()]), handler.clone(), by("id", &file)).await;
    for id in ["m1", "m2"] {
        running.send(id);
        within(running.quiet()).await;
    }
    assert!(!skipped(&running));
    running.send("m1");
    within(running.quiet()).await;
    assert_eq!(runs.load(Ordering::SeqCst), 2);
    assert!(skipped(&running));
    running.stop().await;

    let running = start(Script::new([dead_letter()]), handler, by("id", &file)).await;
    for id in ["m2", "m3"] {
        running.send(id);
        within(running.quiet()).await;
    }
    assert_eq!(runs.load(Ordering::SeqCst), 3, "m3 is new");
    running.stop().await;
}

#[tokio::test]
async fn what_failed_is_run_again_however_it_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let script = Script::new([
        Action::DelayTo { tier: "50ms".to_owned() },
        Action::Requeue { cooldown_ms: Some(1) },
        Action::Retry { delay_ms: 1 },
        dead_letter(),
    ]);
    let (handler, runs) = failing_first(4);
    let running = start(script, handler, by("id", &folder.path().join("host.db"))).await;
    running.send("m1");
    within(running.dead_letter()).await;
    assert_eq!(runs.load(Ordering::SeqCst), 4, "a delayed copy, a requeued delivery and a retry are no duplicates");
    running.send("m1");
    within(running.quiet()).await;
    assert_eq!(runs.load(Ordering::SeqCst), 5, "a dead letter that is sent anew is none");
    running.send("m1");
    within(running.quiet()).await;
    assert_eq!(runs.load(Ordering::SeqCst), 5, "now it was handled");
    running.stop().await;
}

#[tokio::test]
async fn a_delayed_copy_whose_message_was_sent_again_and_handled_meanwhile_is_a_duplicate() {
    let folder = tempfile::tempdir().unwrap();
    let script = Script::new([Action::DelayTo { tier: "50ms".to_owned() }]);
    let (handler, runs) = failing_first(1);
    let running = start(script, handler, by("id", &folder.path().join("host.db"))).await;
    running.send("m1");
    within(running.broker.wait_for("orders", |depth| depth.delayed == 1)).await;
    running.send("m1");
    within(running.broker.wait_for("orders", |depth| depth.delayed + depth.ready + depth.unsettled == 0)).await;
    assert_eq!(runs.load(Ordering::SeqCst), 2);
    assert!(skipped(&running));
    running.stop().await;
}

#[tokio::test]
async fn two_sendings_in_work_at_the_same_time_both_run_unless_they_are_of_one_key() {
    for (ordering, expected) in [(None, 2), (Some("id"), 1)] {
        let folder = tempfile::tempdir().unwrap();
        let runs = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&runs);
        let slow = work(handler_fn(move |_: Call| {
            count.fetch_add(1, Ordering::SeqCst);
            async {
                tokio::time::sleep(Duration::from_millis(200)).await;
                Ok::<(), HandlerError>(())
            }
        }));
        let change = by("id", &folder.path().join("host.db"));
        let running = start(Script::new([dead_letter()]), slow, |spec| {
            change(spec);
            spec.ordering = ordering.map(|key| key.parse().unwrap());
        })
        .await;
        running.send("m1");
        running.send("m1");
        within(running.quiet()).await;
        assert_eq!(runs.load(Ordering::SeqCst), expected, "ordering: {ordering:?}");
        running.stop().await;
    }
}

#[tokio::test]
async fn a_success_whose_ack_never_came_is_not_run_again_by_the_next_process() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("host.db");
    let (gate, begun) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let runs = Arc::new(AtomicU32::new(0));
    let (opened, enter, count) = (Arc::clone(&gate), Arc::clone(&begun), Arc::clone(&runs));
    let slow = work(handler_fn(move |_: Call| {
        count.fetch_add(1, Ordering::SeqCst);
        enter.notify_one();
        let opened = Arc::clone(&opened);
        async move {
            opened.notified().await;
            Ok::<(), HandlerError>(())
        }
    }));
    let first = start(Script::new([dead_letter()]), slow, by("id", &file)).await;
    let broker = first.broker.clone();
    first.send("m1");
    begun.notified().await;
    broker.disconnect();
    // It ends before it could consume again, so all that is left is what is on disk.
    first.shutdown.drain.cancel();
    gate.notify_one();
    first.stop().await;
    assert_eq!(broker.depth("orders").ready, 1, "the message is the broker's");

    let (handler, later_runs) = failing_first(0);
    let second = Running::start_on(broker, Script::new([dead_letter()]), handler, by("id", &file)).await;
    within(second.quiet()).await;
    assert_eq!((runs.load(Ordering::SeqCst), later_runs.load(Ordering::SeqCst)), (1, 0));
    second.stop().await;
}

#[tokio::test]
async fn messages_are_run_where_the_store_cannot_be_used_and_a_metric_says_so() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("state"), "a file where the folder should be").unwrap();
    let (handler, runs) = failing_first(0);
    let running = start(Script::new([dead_letter()]), handler, by("id", &folder.path().join("state/host.db"))).await;
    for _ in 0..2 {
        running.send("m1");
        within(running.quiet()).await;
    }
    assert_eq!(runs.load(Ordering::SeqCst), 2);
    let metrics = running.observer.metrics().encode();
    assert!(metrics.contains("reprieve_store_failures_total{route=\"orders\"} 4"), "two reads, two writes: {metrics}");
    running.stop().await;
}

#[tokio::test]
async fn a_message_without_the_value_is_run_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let (handler, runs) = failing_first(0);
    let change = by("json:/order_id", &folder.path().join("host.db"));
    let running = start(Script::new([dead_letter()]), handler, change).await;
    for body in ["not json", "not json", r#"{"order":1}"#, r#"{"order":1}"#, r#"{"order_id":1}"#, r#"{"order_id":"1"}"#]
    {
        running.broker.publish_to("orders", Message::new(body).with_id("m1")).unwrap();
        within(running.quiet()).await;
    }
    assert_eq!(runs.load(Ordering::SeqCst), 5, "only the last is a duplicate");
    running.stop().await;
}
