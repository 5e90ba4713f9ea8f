//! Killed in the middle of a redrive, no letter is lost and at most one is in both queues.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::stage::Stage;

const LETTERS: u32 = 60;

#[tokio::test(flavor = "multi_thread")]
async fn a_redrive_that_is_killed_loses_nothing_and_repeats_at_most_one_a_kill() {
    let stage = Stage::new().await;
    for number in 0..LETTERS {
        stage.letter(&format!("A{number}"), "late", &[]).await;
    }
    stage.sandbox.wait_for_count(&stage.dlq, LETTERS).await;
    let mut kills = 0;
    for wanted in [5, 17, 33] {
        let mut redrive = stage.command(&["dead-letters", "redrive", "--rate", "200/s"]).spawn().unwrap();
        while stage.sandbox.count(&stage.orders).await < wanted {
            assert!(redrive.try_wait().unwrap().is_none(), "it ended before it was killed");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        redrive.kill().unwrap();
        redrive.wait().unwrap();
        kills += 1;
        // The broker learns of the end of the connection on its own time.
        let there = || async { stage.sandbox.count(&stage.orders).await + stage.sandbox.count(&stage.dlq).await };
        for _ in 0..500 {
            if there().await >= LETTERS {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    stage.run(&["redrive", "--rate", "1000/s"]).await.ended(0);
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    for id in stage.take_ids(&stage.orders).await {
        *seen.entry(id).or_default() += 1;
    }
    assert_eq!(seen.len(), LETTERS as usize, "none is lost");
    let twice = seen.values().sum::<u32>() - LETTERS;
    assert!(twice <= kills, "{twice} more than were sent, after {kills} kills");
    assert_eq!(stage.sandbox.count(&stage.dlq).await, 0);
}
