//! A verdict of requeue cools down, and nothing spins (rule 5).

use std::time::{Duration, Instant};

use reprieve::verdict::Action;

use crate::cases::on_every_broker;
use crate::running::Running;
use crate::stage::Stage;

on_every_broker! {
    each_requeue_cools_down_longer_and_the_count_goes_on,
    others_are_handled_while_one_cools_down,
}

const REQUEUE: Action = Action::Requeue { cooldown_ms: None };
const FIRST: Duration = Duration::from_millis(150);

async fn each_requeue_cools_down_longer_and_the_count_goes_on(stage: Stage) {
    let mut running = Running::start(&stage, &[REQUEUE, REQUEUE, REQUEUE], |spec| spec.requeue.initial = FIRST).await;
    stage.send_ids(&["m"]).await;
    for (attempt, cooldown) in [(1, FIRST), (2, 2 * FIRST), (3, 4 * FIRST)] {
        let call = running.attempt().await.fail();
        let failed = Instant::now();
        assert_eq!((call.attempt, call.redelivered), (attempt, attempt > 1));
        running.event("requeued").await;
        assert!(failed.elapsed() >= cooldown, "after attempt {attempt}, {:?}", failed.elapsed());
    }
    let call = running.attempt().await.succeed();
    assert_eq!(call.attempt, 4);
    assert!(call.message.headers.get("reprieve-attempts").is_none(), "it is no copy");
    running.stop().await;
    assert!(stage.take_letters(0).await.is_empty());
    stage.assert_empty().await;
}

async fn others_are_handled_while_one_cools_down(stage: Stage) {
    let mut running = Running::start(&stage, &[REQUEUE], |spec| spec.requeue.initial = 10 * FIRST).await;
    stage.send_ids(&["m"]).await;
    running.attempt().await.fail();
    running.event("consumed").await;
    for id in ["1", "2", "3"] {
        stage.send_ids(&[id]).await;
        assert_eq!(running.attempt().await.succeed().message.id.as_deref(), Some(id));
    }
    running.event("requeued").await;
    assert_eq!(running.attempt().await.succeed().attempt, 2);
    running.stop().await;
    stage.assert_empty().await;
}
