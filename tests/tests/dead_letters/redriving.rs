use lapin::types::AMQPValue;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::stage::Stage;

#[tokio::test(flavor = "multi_thread")]
async fn a_message_goes_back_as_it_was_sent_with_its_counts_reset() {
    let stage = Stage::new().await;
    stage.letter("A1", "late", &[]).await;
    stage.sandbox.wait_for_count(&stage.dlq, 1).await;
    let said = stage.run(&["redrive"]).await.ended(0);
    assert!(said.contains(&format!("to {}", stage.orders)), "{said}");
    let message = stage.sandbox.take(&stage.orders).await;
    assert_eq!(message.data, b"body of A1");
    let properties = &message.properties;
    assert_eq!(properties.message_id().as_ref().unwrap().as_str(), "A1");
    assert_eq!(properties.correlation_id().as_ref().unwrap().as_str(), "c-1");
    assert_eq!(*properties.delivery_mode(), Some(2));
    let headers = properties.headers().as_ref().unwrap().inner();
    assert_eq!(headers["tenant"], AMQPValue::ShortInt(7));
    let ours: Vec<_> = headers.iter().filter(|(name, _)| name.as_str().starts_with("reprieve-")).collect();
    assert_eq!(ours, [(&"reprieve-redrives".into(), &AMQPValue::LongLongInt(1))]);
    assert_eq!(stage.sandbox.count(&stage.dlq).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_asked_for_stays_in_its_order() {
    let stage = Stage::new().await;
    for (id, kind) in [("A1", "late"), ("A2", "invalid"), ("A3", "late"), ("A4", "invalid")] {
        stage.letter(id, kind, &[]).await;
    }
    stage.sandbox.wait_for_count(&stage.dlq, 4).await;
    stage.run(&["redrive", "--error-kind", "invalid"]).await.ended(0);
    stage.sandbox.wait_for_count(&stage.dlq, 2).await;
    assert_eq!(stage.take_ids(&stage.dlq).await, ["A1", "A3"]);
    stage.sandbox.wait_for_count(&stage.orders, 2).await;
    assert_eq!(stage.take_ids(&stage.orders).await, ["A2", "A4"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_origin_stops_it_and_loses_nothing() {
    let stage = Stage::new().await;
    let gone = stage.sandbox.name("gone");
    stage.letter("A1", "late", &[("reprieve-origin-topic", AMQPValue::LongString(gone.as_str().into()))]).await;
    stage.letter("A2", "late", &[]).await;
    stage.sandbox.wait_for_count(&stage.dlq, 2).await;
    let said = stage.run(&["redrive"]).await.ended(1);
    assert!(said.contains(&gone) && said.contains("--to"), "{said}");
    stage.sandbox.wait_for_count(&stage.dlq, 2).await;
    assert!(!stage.sandbox.exists(&gone).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_origin_that_throws_away_what_it_confirmed_is_refused() {
    let stage = Stage::new().await;
    let bounded = stage.sandbox.queue("bounded", &[("x-max-length", AMQPValue::LongInt(1))]).await;
    for id in ["A1", "A2"] {
        stage.letter(id, "late", &[]).await;
    }
    stage.sandbox.wait_for_count(&stage.dlq, 2).await;
    let said = stage.run(&["redrive", "--to", &bounded]).await.ended(1);
    assert!(said.contains("throws others away"), "{said}");
    stage.sandbox.wait_for_count(&stage.dlq, 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn letters_of_nobody_stay_unless_a_queue_is_named() {
    let stage = Stage::new().await;
    let properties = lapin::BasicProperties::default().with_message_id("F1".into());
    stage.sandbox.put(&stage.dlq, b"foreign", properties).await;
    stage.sandbox.wait_for_count(&stage.dlq, 1).await;
    let said = stage.run(&["redrive"]).await.ended(3);
    assert!(said.contains("F1") && said.contains("--to"), "{said}");
    stage.sandbox.wait_for_count(&stage.dlq, 1).await;
    stage.run(&["redrive", "--to", &stage.orders]).await.ended(0);
    stage.sandbox.wait_for_count(&stage.orders, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupt_finishes_the_letter_under_way_and_hands_back_the_rest() {
    let stage = Stage::new().await;
    for number in 0..40 {
        stage.letter(&format!("A{number}"), "late", &[]).await;
    }
    stage.sandbox.wait_for_count(&stage.dlq, 40).await;
    let mut command = stage.command(&["dead-letters", "redrive", "--rate", "5/s"]);
    let running = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let pid = Pid::from_raw(i32::try_from(running.id()).unwrap());
    while stage.sandbox.count(&stage.orders).await < 2 {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    kill(pid, Signal::SIGINT).unwrap();
    let output = tokio::task::spawn_blocking(|| running.wait_with_output()).await.unwrap().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("interrupted"), "{said}");
    let moved = stage.sandbox.count(&stage.orders).await;
    assert!(moved < 40);
    stage.sandbox.wait_for_count(&stage.dlq, 40 - moved).await;
    let mut ids = stage.take_ids(&stage.orders).await;
    ids.extend(stage.take_ids(&stage.dlq).await);
    let in_order: Vec<_> = (0..40).map(|number| format!("A{number}")).collect();
    assert_eq!(ids, in_order);
}
