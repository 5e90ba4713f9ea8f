//! Settling a delivery: what it does, and that it does it once.

use reprieve::broker::{SettleError, Settlement};

use crate::cases::on_every_broker;
use crate::stage::{Stage, assert_quiet, leave, next, take};
use crate::within;

on_every_broker! {
    an_acknowledged_message_is_gone_for_good,
    a_message_that_is_handed_back_comes_again_and_says_so,
    a_delivery_is_settled_once,
    no_more_are_unsettled_than_prefetch_says,
    an_ack_out_of_order_lets_none_of_the_others_go,
    closing_leaves_no_ack_in_doubt,
}

async fn an_acknowledged_message_is_gone_for_good(stage: Stage) {
    let driver = stage.driver();
    let mut consumer = stage.consume(&driver, 2).await;
    stage.send_ids(&["1", "2", "3"]).await;
    for id in ["1", "2", "3"] {
        assert_eq!(take(&mut *consumer).await.id.as_deref(), Some(id), "in order");
    }
    leave(consumer).await;
    within(driver.close()).await;
    stage.assert_empty().await;
}

async fn a_message_that_is_handed_back_comes_again_and_says_so(stage: Stage) {
    let driver = stage.driver();
    let mut consumer = stage.consume(&driver, 1).await;
    stage.send_ids(&["m"]).await;
    let first = next(&mut *consumer).await;
    assert!(!first.redelivered);
    within(first.settler.settle(Settlement::Reject)).await.unwrap();
    let second = next(&mut *consumer).await;
    assert!(second.redelivered);
    within(second.settler.settle(Settlement::Release)).await.unwrap();
    let third = next(&mut *consumer).await;
    assert!(third.redelivered);
    assert_eq!((&third.message, &second.message), (&first.message, &first.message));
}

async fn a_delivery_is_settled_once(stage: Stage) {
    let driver = stage.driver();
    let mut consumer = stage.consume(&driver, 1).await;
    stage.send_ids(&["1", "2"]).await;
    let first = next(&mut *consumer).await;
    within(first.settler.settle(Settlement::Reject)).await.unwrap();
    let again = next(&mut *consumer).await;
    for settlement in [Settlement::Ack, Settlement::Reject, Settlement::Release] {
        let settled = within(first.settler.settle(settlement)).await;
        assert!(matches!(settled, Err(SettleError::Gone(_))), "{settlement:?}: {settled:?}");
    }
    assert!(!again.lost.is_cancelled(), "the second hand-over is not the first one's to settle");
    within(again.settler.settle(Settlement::Ack)).await.unwrap();
    assert_eq!(take(&mut *consumer).await.id.as_deref(), Some("2"));
}

async fn no_more_are_unsettled_than_prefetch_says(stage: Stage) {
    let driver = stage.driver();
    let mut consumer = stage.consume(&driver, 2).await;
    stage.send_ids(&["1", "2", "3", "4"]).await;
    let first = next(&mut *consumer).await;
    let _second = next(&mut *consumer).await;
    assert_quiet(&mut *consumer).await;
    within(first.settler.settle(Settlement::Ack)).await.unwrap();
    let third = next(&mut *consumer).await;
    assert_eq!(third.message.id.as_deref(), Some("3"));
    assert_quiet(&mut *consumer).await;
}

async fn an_ack_out_of_order_lets_none_of_the_others_go(stage: Stage) {
    let driver = stage.driver();
    let mut consumer = stage.consume(&driver, 3).await;
    stage.send_ids(&["1", "2", "3"]).await;
    let _first = next(&mut *consumer).await;
    let second = next(&mut *consumer).await;
    let _third = next(&mut *consumer).await;
    within(second.settler.settle(Settlement::Ack)).await.unwrap();
    leave(consumer).await;
    within(driver.close()).await;

    let driver = stage.driver();
    let mut consumer = stage.consume(&driver, 3).await;
    let mut again = Vec::new();
    for _ in 0..2 {
        again.push(next(&mut *consumer).await.message.id.clone().unwrap());
    }
    again.sort();
    assert_eq!(again[0], "1");
    // A log has one position, so what is decided behind it may come once more.
    if !stage.capabilities().partitions {
        assert_eq!(again[1], "3");
    }
}

async fn closing_leaves_no_ack_in_doubt(stage: Stage) {
    let ids: Vec<String> = (0..200).map(|number| number.to_string()).collect();
    stage.send_ids(&ids.iter().map(String::as_str).collect::<Vec<_>>()).await;
    let driver = stage.driver();
    let mut consumer = stage.consume(&driver, 50).await;
    for _ in &ids {
        take(&mut *consumer).await;
    }
    // The last acks are only just written.
    leave(consumer).await;
    drop(driver);
    stage.assert_empty().await;
}
