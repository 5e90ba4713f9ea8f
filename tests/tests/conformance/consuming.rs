//! Consumers that wait, stop and share.

use std::collections::BTreeSet;
use std::time::Duration;

use reprieve::broker::Settlement;

use crate::cases::on_every_broker;
use crate::stage::{Stage, leave, next, take};
use crate::within;

on_every_broker! {
    a_delivery_that_nobody_waits_for_any_more_is_not_lost,
    a_stopped_consumer_settles_what_it_has_and_leaves_the_rest,
}

async fn a_delivery_that_nobody_waits_for_any_more_is_not_lost(stage: Stage) {
    let driver = stage.driver();
    let mut consumer = stage.consume(&driver, 3).await;
    let ids: Vec<String> = (0..50).map(|number| format!("{number:02}")).collect();
    let sending = async {
        for id in &ids {
            stage.send_ids(&[id.as_str()]).await;
        }
    };
    let taking = async {
        let mut taken = Vec::new();
        while taken.len() < ids.len() {
            // Gives up waiting many times while messages come in.
            if let Ok(delivery) = tokio::time::timeout(Duration::from_micros(200), consumer.next()).await {
                let delivery = delivery.unwrap();
                taken.push(delivery.message.id.clone().unwrap());
                delivery.settler.settle(Settlement::Ack).await.unwrap();
            }
        }
        taken
    };
    let ((), taken) = within(async { tokio::join!(sending, taking) }).await;
    assert_eq!(taken, ids);
}

async fn a_stopped_consumer_settles_what_it_has_and_leaves_the_rest(stage: Stage) {
    let driver = stage.driver();
    let mut consumer = stage.consume(&driver, 3).await;
    stage.send_ids(&["seen", "2", "3", "4"]).await;
    let seen = next(&mut *consumer).await;
    within(consumer.stop()).await;
    assert!(within(consumer.next()).await.is_err(), "it takes nothing more");
    assert!(!seen.lost.is_cancelled());
    within(seen.settler.settle(Settlement::Ack)).await.unwrap();
    within(consumer.close()).await;
    drop(consumer);

    let mut other = stage.consume(&driver, 10).await;
    let mut rest = BTreeSet::new();
    while rest.len() < 3 {
        rest.insert(take(&mut *other).await.id.clone().unwrap());
    }
    assert_eq!(rest, ["2", "3", "4"].map(str::to_owned).into());
    leave(other).await;
    within(driver.close()).await;
    stage.assert_empty().await;
}
