//! Tiers bring a message back, the same and never early, and the count travels with it.

use std::time::{Duration, Instant};

use reprieve::broker::Plan;
use reprieve::event::{EventKind, SkipReason};
use reprieve::message::Message;
use reprieve::topic::Tier;
use reprieve::verdict::Action;

use crate::carrying::{came, full_message, kept};
use crate::cases::on_every_broker;
use crate::failing::DEAD_LETTER;
use crate::running::Running;
use crate::stage::{Stage, consume, take};
use crate::watching::CutAfterPublishing;
use crate::within;

on_every_broker! {
    a_message_comes_back_from_a_tier_as_it_was_and_never_early,
    a_short_tier_does_not_wait_for_a_long_one,
    messages_that_are_due_together_all_come,
    a_failure_is_delayed_from_tier_to_tier_with_its_count,
    the_count_travels_over_an_end_of_the_host,
    a_delayed_copy_is_not_taken_for_the_message_whose_ack_was_lost,
}

fn with(stage: &Stage, tiers: &[&Tier]) -> Plan {
    Plan { tiers: tiers.iter().map(|tier| (*tier).clone()).collect(), ..stage.plan() }
}

pub(crate) fn delay_to(tier: &Tier) -> Action {
    Action::DelayTo { tier: tier.name.clone() }
}

async fn a_message_comes_back_from_a_tier_as_it_was_and_never_early(stage: Stage) {
    let tier = stage.tier(700);
    let driver = stage.driver();
    let mut consumer = consume(&driver, &with(&stage, &[&tier]), 1).await;
    let sent = Instant::now();
    within(driver.publish(&stage.to_tier(&tier), &full_message())).await.unwrap();
    let message = take(&mut *consumer).await;
    assert!(sent.elapsed() >= tier.delay, "back after {:?}", sent.elapsed());
    let keeps = stage.capabilities().keeps;
    assert_eq!(came(&message, &keeps), kept(full_message(), &keeps));
}

async fn a_short_tier_does_not_wait_for_a_long_one(stage: Stage) {
    let (long, short) = (stage.tier(4000), stage.tier(300));
    let driver = stage.driver();
    let mut consumer = consume(&driver, &with(&stage, &[&short, &long]), 10).await;
    let sent = Instant::now();
    for (tier, id) in [(&long, "long"), (&short, "short")] {
        within(driver.publish(&stage.to_tier(tier), &Message::new("body").with_id(id))).await.unwrap();
    }
    for (tier, id) in [(&short, "short"), (&long, "long")] {
        assert_eq!(take(&mut *consumer).await.id.as_deref(), Some(id));
        assert!(sent.elapsed() >= tier.delay, "{id} is back after {:?}", sent.elapsed());
    }
}

async fn messages_that_are_due_together_all_come(stage: Stage) {
    const MESSAGES: usize = 300;
    let tier = stage.tier(500);
    let driver = stage.driver();
    let mut consumer = consume(&driver, &with(&stage, &[&tier]), 20).await;
    let to = stage.to_tier(&tier);
    let messages: Vec<Message> = (0..MESSAGES).map(|number| Message::new("body").with_id(number.to_string())).collect();
    let published = futures_util::future::join_all(messages.iter().map(|message| driver.publish(&to, message)));
    assert!(within(published).await.iter().all(Result::is_ok));
    let mut missing: std::collections::BTreeSet<String> = (0..MESSAGES).map(|number| number.to_string()).collect();
    while !missing.is_empty() {
        let id = take(&mut *consumer).await.id.clone().unwrap();
        assert!(missing.remove(&id), "{id} came twice");
    }
}

async fn a_failure_is_delayed_from_tier_to_tier_with_its_count(stage: Stage) {
    let tiers = [stage.tier(200), stage.tier(400), stage.tier(600)];
    let verdicts: Vec<Action> = tiers.iter().map(delay_to).chain([DEAD_LETTER]).collect();
    let mut running = Running::start(&stage, &verdicts, |spec| spec.tiers = tiers.to_vec()).await;
    stage.send_ids(&["m"]).await;
    running.attempt().await.fail();
    for (tier, attempt) in tiers.iter().zip(2..) {
        let EventKind::Delayed { subject, tier: named, .. } = running.event("delayed").await else { unreachable!() };
        assert_eq!((subject.attempt, named), (attempt - 1, tier.name.clone()));
        let failed = Instant::now();
        let call = running.attempt().await.fail();
        assert_eq!(call.attempt, attempt);
        assert_eq!(call.message.headers.text("reprieve-tier"), Some(tier.name.as_str()));
        // Some of the wait had gone by when the event was told.
        assert!(failed.elapsed() + Duration::from_millis(150) >= tier.delay, "back after {:?}", failed.elapsed());
    }
    running.event("dead-lettered").await;
    running.stop().await;
    let letter = stage.take_letters(1).await.remove(0);
    assert_eq!(letter.headers.get("reprieve-attempts").and_then(|count| count.as_i64()), Some(4));
    stage.assert_empty().await;
}

async fn the_count_travels_over_an_end_of_the_host(stage: Stage) {
    let tier = stage.tier(500);
    let tiers = vec![tier.clone()];
    let mut first = Running::start(&stage, &[delay_to(&tier)], |spec| spec.tiers.clone_from(&tiers)).await;
    stage.send_ids(&["m"]).await;
    first.attempt().await.fail();
    first.event("delayed").await;
    first.stop().await;
    let mut second = Running::start(&stage, &[], |spec| spec.tiers.clone_from(&tiers)).await;
    let call = second.attempt().await.succeed();
    assert_eq!((call.attempt, call.message.id.as_deref()), (2, Some("m")));
    second.stop().await;
    stage.assert_empty().await;
}

async fn a_delayed_copy_is_not_taken_for_the_message_whose_ack_was_lost(stage: Stage) {
    let tier = stage.tier(1000);
    let tiers = vec![tier.clone()];
    let broker = CutAfterPublishing::on(&stage);
    let mut running = Running::start(&stage, &[delay_to(&tier)], |spec| {
        (spec.broker, spec.tiers, spec.concurrency) = (broker, tiers, 1);
    })
    .await;
    stage.send_ids(&["m"]).await;
    running.attempt().await.fail();
    let EventKind::Skipped { why, .. } = running.event("skipped").await else { unreachable!() };
    assert_eq!(why, SkipReason::AckLost);
    let call = running.attempt().await.succeed();
    assert_eq!((call.message.id.as_deref(), call.attempt), (Some("m"), 2));
    running.stop().await;
    stage.assert_empty().await;
}
