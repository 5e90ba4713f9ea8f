//! Cancelled is not failed (rule 3): what a host was doing when it stopped or was cut off counts for nothing.

use std::collections::BTreeMap;

use reprieve::message::Message;
use reprieve::verdict::Action;

use crate::carrying::came;
use crate::cases::on_every_broker;
use crate::running::Running;
use crate::stage::Stage;

on_every_broker! {
    a_host_that_stops_finishes_what_runs_and_hands_back_what_sleeps_uncounted,
    what_fails_after_its_delivery_was_lost_is_not_judged,
}

async fn a_host_that_stops_finishes_what_runs_and_hands_back_what_sleeps_uncounted(stage: Stage) {
    let mut running = Running::start(&stage, &[Action::Retry { delay_ms: 60_000 }], |spec| spec.concurrency = 2).await;
    stage.send_ids(&["runs", "sleeps", "waits"]).await;
    let (first, second) = (running.attempt().await, running.attempt().await);
    let (runs, sleeps) = if first.id() == "runs" { (first, second) } else { (second, first) };
    sleeps.fail();
    running.event("retry-scheduled").await;
    running.drain().await;
    running.event("released").await;
    runs.succeed();
    running.stop().await;

    let mut next = Running::start(&stage, &[], |_| {}).await;
    let mut again = BTreeMap::new();
    for _ in 0..2 {
        let attempt = next.attempt().await;
        again.insert(attempt.id().to_owned(), attempt.call.clone());
        attempt.succeed();
    }
    assert_eq!(again.keys().collect::<Vec<_>>(), ["sleeps", "waits"], "what ran to its end is not run again");
    for (id, call) in again {
        assert_eq!(call.attempt, 1, "{id}");
        let sent = Message::new(format!("body of {id}")).with_id(id);
        let came = came(&call.message, &stage.capabilities().keeps);
        assert_eq!((came.headers, came.body), (sent.headers, sent.body), "it is as it was sent");
    }
    next.stop().await;
    assert!(stage.take_letters(0).await.is_empty());
    stage.assert_empty().await;
}

async fn what_fails_after_its_delivery_was_lost_is_not_judged(stage: Stage) {
    // There is no verdict to be had: the policy must not be asked.
    let mut running = Running::start(&stage, &[], |_| {}).await;
    stage.send_ids(&["m"]).await;
    let lost = running.attempt().await;
    stage.place.cut().await;
    // What runs may finish, and it would be all the same had it succeeded now.
    let again = running.attempt().await;
    assert_eq!(again.id(), "m");
    lost.fail();
    running.event("released").await;
    assert!(again.call.message.headers.get("reprieve-attempts").is_none());
    again.succeed();
    running.stop().await;
    assert!(stage.take_letters(0).await.is_empty());
    stage.assert_empty().await;
}
