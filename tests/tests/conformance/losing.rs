//! Deliveries that are lost: to a connection, to a consumer that is dropped, to a closed driver.

use reprieve::broker::{SettleError, Settlement};

use crate::cases::on_every_broker;
use crate::stage::{Stage, next, next_after_loss};
use crate::within;

on_every_broker! {
    what_is_cut_off_is_lost_at_once_and_comes_again,
    a_consumer_that_is_dropped_gives_everything_back,
    closing_the_driver_ends_its_deliveries,
}

async fn what_is_cut_off_is_lost_at_once_and_comes_again(stage: Stage) {
    let driver = stage.driver();
    let mut consumer = stage.consume(&driver, 1).await;
    stage.send_ids(&["m"]).await;
    let delivery = next(&mut *consumer).await;
    assert!(!delivery.lost.is_cancelled());

    stage.place.cut().await;
    // Nobody reads from the consumer here: a handler that runs must learn of it all the same.
    within(delivery.lost.cancelled()).await;
    let settled = within(delivery.settler.settle(Settlement::Reject)).await;
    assert!(matches!(settled, Err(SettleError::Gone(_))), "{settled:?}");

    let again = next_after_loss(&mut consumer, &driver, &stage.plan(), 1).await;
    assert_eq!(again.message, delivery.message);
    within(again.settler.settle(Settlement::Ack)).await.unwrap();
}

async fn a_consumer_that_is_dropped_gives_everything_back(stage: Stage) {
    let driver = stage.driver();
    let mut consumer = stage.consume(&driver, 3).await;
    stage.send_ids(&["1", "2", "3"]).await;
    let deliveries = [next(&mut *consumer).await, next(&mut *consumer).await];
    drop(consumer);
    for delivery in &deliveries {
        within(delivery.lost.cancelled()).await;
        let settled = within(delivery.settler.settle(Settlement::Release)).await;
        assert!(matches!(settled, Err(SettleError::Gone(_))), "{settled:?}");
    }
    let mut consumer = stage.consume(&driver, 3).await;
    for id in ["1", "2", "3"] {
        assert_eq!(next(&mut *consumer).await.message.id.as_deref(), Some(id), "in order");
    }
}

async fn closing_the_driver_ends_its_deliveries(stage: Stage) {
    let driver = stage.driver();
    let mut consumer = stage.consume(&driver, 1).await;
    stage.send_ids(&["m"]).await;
    let delivery = next(&mut *consumer).await;
    within(driver.close()).await;
    within(delivery.lost.cancelled()).await;
    assert!(within(consumer.next()).await.is_err());
    drop(consumer);
    let driver = stage.driver();
    assert_eq!(next(&mut *stage.consume(&driver, 1).await).await.message, delivery.message);
}
