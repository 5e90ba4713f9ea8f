//! From a failure to its mended handler, with a running host.

use std::process::{Child, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::stage::Stage;

struct Host(Child);

impl Host {
    fn stop(mut self) {
        kill(Pid::from_raw(i32::try_from(self.0.id()).unwrap()), Signal::SIGTERM).unwrap();
        assert!(self.0.wait().unwrap().success(), "an orderly end");
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // One that was stopped is gone, which is fine.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_redriven_until_that_is_refused_and_handled_once_its_handler_is_mended() {
    let stage = Stage::new().await;
    let host = Host(stage.command(&["run", "--log", "error"]).stdout(Stdio::null()).spawn().unwrap());
    let properties = lapin::BasicProperties::default().with_message_id("A1".into());
    stage.sandbox.put(&stage.orders, b"an order", properties).await;
    for redrives in 0..2 {
        stage.sandbox.wait_for_count(&stage.dlq, 1).await;
        let shown = stage.run(&["peek"]).await.ended(0);
        assert!(shown.contains("A1") && shown.contains("after 1 attempt"), "{shown}");
        let redriven = ["", "redriven once"][redrives];
        assert!(shown.contains(redriven), "{shown}");
        stage.sandbox.wait_for_count(&stage.dlq, 1).await;
        stage.run(&["redrive", "--max-redrives", "2"]).await.ended(0);
    }
    // It has failed for the third time, and twice is as often as it may go back.
    stage.sandbox.wait_for_count(&stage.dlq, 1).await;
    let refused = stage.run(&["redrive", "--max-redrives", "2"]).await.ended(3);
    assert!(refused.contains("redriven 2 times before: A1"), "{refused}");
    stage.sandbox.wait_for_count(&stage.dlq, 1).await;

    std::fs::write(stage.path("mended"), "").unwrap();
    stage.run(&["redrive", "--max-redrives", "3"]).await.ended(0);
    stage.sandbox.wait_for_count(&stage.orders, 0).await;
    // Stopped in good order, the host has settled what it had.
    tokio::task::spawn_blocking(|| host.stop()).await.unwrap();
    assert_eq!((stage.sandbox.count(&stage.orders).await, stage.sandbox.count(&stage.dlq).await), (0, 0));
}
