//! A publish counts only when it is confirmed, routed and kept (rule 2).

use std::sync::Arc;

use futures_util::future::join_all;
use reprieve::broker::{Plan, PublishError, Target};
use reprieve::message::Message;

use crate::cases::on_every_broker;
use crate::stage::{Stage, consume, take};
use crate::within;

on_every_broker! {
    a_target_that_is_gone_is_an_outage_until_it_is_there_again,
    what_is_too_large_is_refused_for_that_and_hurts_nobody_else,
    many_publishes_at_once_are_all_kept,
    the_depth_of_a_topic_is_what_waits_there,
}

async fn a_target_that_is_gone_is_an_outage_until_it_is_there_again(stage: Stage) {
    let driver = stage.driver();
    within(driver.prepare(&stage.plan())).await.unwrap();
    let letters = Target::Topic(stage.letters.as_str().into());
    within(driver.publish(&letters, &Message::new("body").with_id("1"))).await.unwrap();
    assert_eq!(stage.take_letters(1).await.len(), 1);

    stage.place.take_away(&stage.letters).await;
    let error = within(driver.publish(&letters, &Message::new("body").with_id("2"))).await.unwrap_err();
    assert!(matches!(&error, PublishError::Outage(why) if why.contains(&stage.letters)), "{error:?}");
    // Others are not touched by it.
    within(driver.publish(&stage.to_source(), &Message::new("body").with_id("3"))).await.unwrap();

    stage.place.bring_back(&stage.letters).await;
    within(async {
        while driver.publish(&letters, &Message::new("body").with_id("4")).await.is_err() {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    })
    .await;
    assert_eq!(stage.take_letters(1).await[0].id.as_deref(), Some("4"));
}

async fn what_is_too_large_is_refused_for_that_and_hurts_nobody_else(stage: Stage) {
    let driver = stage.driver();
    within(driver.prepare(&stage.plan())).await.unwrap();
    stage.place.bound(&stage.source, 1 << 20);
    let large = Message::new("body").with_id("large").with_header("stack", "x".repeat(2 << 20));
    let small = Message::new("body").with_id("small");
    let to = stage.to_source();
    let others = join_all((0..20).map(|_| driver.publish(&to, &small)));
    let (refused, others) = within(async { tokio::join!(driver.publish(&to, &large), others) }).await;
    assert!(matches!(refused, Err(PublishError::TooLarge(_))), "{refused:?}");
    assert!(others.iter().all(Result::is_ok), "{others:?}");
    let mut consumer = stage.consume(&driver, 30).await;
    for _ in 0..20 {
        assert_eq!(take(&mut *consumer).await.id.as_deref(), Some("small"));
    }
}

async fn many_publishes_at_once_are_all_kept(stage: Stage) {
    const MESSAGES: usize = 1000;
    let driver = stage.driver();
    within(driver.prepare(&stage.plan())).await.unwrap();
    let letters = Target::Topic(stage.letters.as_str().into());
    let publishes = (0..MESSAGES).map(|number| {
        let (driver, letters) = (Arc::clone(&driver), letters.clone());
        let message = Message::new("body").with_id(number.to_string());
        tokio::spawn(async move { driver.publish(&letters, &message).await })
    });
    let outcomes = within(join_all(publishes)).await;
    assert!(outcomes.iter().all(|outcome| matches!(outcome, Ok(Ok(())))));
    let plan = Plan { group: stage.group(), ..Plan::new(&stage.route, &stage.letters) };
    let mut consumer = consume(&driver, &plan, 100).await;
    let mut missing: std::collections::BTreeSet<String> = (0..MESSAGES).map(|number| number.to_string()).collect();
    while !missing.is_empty() {
        let message = take(&mut *consumer).await;
        assert!(missing.remove(message.id.as_deref().unwrap()), "{message:?} came twice");
    }
}

async fn the_depth_of_a_topic_is_what_waits_there(stage: Stage) {
    let driver = stage.driver();
    within(driver.prepare(&stage.plan())).await.unwrap();
    let topic = stage.letters.as_str().into();
    assert_eq!(within(driver.depth(&topic)).await, Ok(Some(0)));
    for id in ["1", "2", "3"] {
        within(driver.publish(&Target::Topic(topic.clone()), &Message::new("body").with_id(id))).await.unwrap();
    }
    // It may be some moments old.
    within(async {
        while driver.depth(&topic).await != Ok(Some(3)) {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    })
    .await;
}
