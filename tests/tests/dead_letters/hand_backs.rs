//! Quorum queues count how often a message was handed back, and throw it away past their limit.

use lapin::types::AMQPValue;

use crate::stage::{Stage, quorum};

fn limited(limit: i32) -> Vec<(&'static str, AMQPValue)> {
    let mut arguments = quorum();
    arguments.push(("x-delivery-limit", AMQPValue::LongInt(limit)));
    arguments
}

#[tokio::test(flavor = "multi_thread")]
async fn peeking_again_and_again_loses_nothing_where_the_queue_has_a_delivery_limit() {
    let stage = Stage::with_dlq(&limited(3)).await;
    for id in ["A1", "A2"] {
        stage.letter(id, "late", &[]).await;
    }
    for _ in 0..8 {
        stage.sandbox.wait_for_count(&stage.dlq, 2).await;
        stage.run(&["peek"]).await.ended(0);
    }
    stage.sandbox.wait_for_count(&stage.dlq, 2).await;
    let mut ids = stage.take_ids(&stage.dlq).await;
    ids.sort();
    assert_eq!(ids, ["A1", "A2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn letters_that_a_redrive_leaves_are_kept_from_the_limit_too() {
    let stage = Stage::with_dlq(&limited(3)).await;
    stage.letter("A1", "late", &[]).await;
    for _ in 0..6 {
        stage.sandbox.wait_for_count(&stage.dlq, 1).await;
        stage.run(&["redrive", "--dry-run"]).await.ended(0);
        stage.sandbox.wait_for_count(&stage.dlq, 1).await;
        stage.run(&["redrive", "--error-kind", "other"]).await.ended(0);
    }
    stage.sandbox.wait_for_count(&stage.dlq, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_that_leaves_no_room_is_refused() {
    let stage = Stage::with_dlq(&limited(1)).await;
    stage.letter("A1", "late", &[]).await;
    stage.sandbox.wait_for_count(&stage.dlq, 1).await;
    for command in ["peek", "redrive"] {
        let refused = stage.run(&[command]).await;
        assert_eq!(refused.code(), Some(1));
        assert!(refused.err().contains("x-delivery-limit 1"), "{}", refused.err());
    }
    let untouched = stage.sandbox.take(&stage.dlq).await;
    assert!(!untouched.redelivered);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renewed_letter_goes_to_no_queue_that_its_sender_had_copies_sent_to() {
    let stage = Stage::new().await;
    let audit = stage.sandbox.queue("audit", &quorum()).await;
    let copies = AMQPValue::FieldArray(vec![AMQPValue::LongString(audit.as_str().into())].into());
    stage.letter("A1", "late", &[("CC", copies.clone())]).await;
    stage.sandbox.wait_for_count(&stage.dlq, 1).await;
    // The copy that is its sender's.
    stage.sandbox.take(&audit).await;

    stage.run(&["peek"]).await.ended(0);
    stage.sandbox.wait_for_count(&stage.dlq, 1).await;
    assert_eq!(stage.sandbox.count(&audit).await, 0, "a copy for a queue that has had its own");
    let letter = stage.sandbox.take(&stage.dlq).await;
    let headers = letter.properties.headers().clone().expect("headers");
    assert_eq!(headers.inner().get("reprieve-cc"), Some(&copies));
    assert!(!letter.redelivered, "it is a new message");
}
