//! Takes records and settles them: what is committed, what comes again, and where delayed records come out.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use reprieve::broker::kafka::{Kafka, KafkaSettings};
use reprieve::broker::{Broker, Consumer, Delivery, Plan, SettleError, Settlement, Target};
use reprieve::message::Message;
use reprieve::timestamp::Timestamp;
use reprieve::topic::Tier;
use reprieve_tests::kafka::{Record, Sandbox, address};

/// No test waits longer for anything; a group takes seconds to begin.
const DEADLINE: Duration = Duration::from_secs(30);

fn settings() -> KafkaSettings {
    let mut settings = KafkaSettings::new("main", address());
    settings.client.insert("session.timeout.ms".to_owned(), "6000".to_owned());
    settings.client.insert("heartbeat.interval.ms".to_owned(), "500".to_owned());
    settings
}

fn driver() -> Kafka {
    Kafka::new(&settings()).expect("usable settings")
}

/// A route on this topic, in a group of its own.
fn plan(sandbox: &Sandbox, source: &str) -> Plan {
    Plan { group: Some(sandbox.name("group")), ..Plan::new(&sandbox.name("route"), source) }
}

fn tiered(sandbox: &Sandbox, source: &str, delay: Duration) -> (Plan, Tier) {
    let plan = plan(sandbox, source);
    let tier = Tier { name: format!("{}ms", delay.as_millis()), delay };
    sandbox.delete_later(&tier_topic(&plan, &tier));
    (Plan { tiers: vec![tier.clone()], ..plan }, tier)
}

fn tier_topic(plan: &Plan, tier: &Tier) -> String {
    format!("reprieve.tier.{}.{}", plan.route, tier.name)
}

async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(DEADLINE, future).await.expect("an end in time")
}

async fn next(consumer: &mut Box<dyn Consumer>) -> Delivery {
    within(consumer.next()).await.expect("a delivery")
}

async fn ack(delivery: &Delivery) -> Result<(), SettleError> {
    delivery.settler.settle(Settlement::Ack).await
}

fn body(delivery: &Delivery) -> &str {
    std::str::from_utf8(delivery.message.body.as_deref().expect("a body")).expect("text")
}

async fn close(mut consumer: Box<dyn Consumer>) {
    consumer.stop().await;
    within(consumer.close()).await;
}

/// Waits until the group has decided all that is on a topic: on a tier, also what only asked the broker for its time.
async fn wait_until_all_is_committed(sandbox: &Sandbox, plan: &Plan, topic: &str) {
    let records = sandbox.ends(topic).await.into_iter().sum();
    sandbox.wait_for_commits(plan.group.as_deref().unwrap(), topic, records).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn records_come_in_the_order_of_their_partition_and_are_committed_as_they_are_decided() {
    let sandbox = Sandbox::new();
    let source = sandbox.topic("orders", 3, &[]).await;
    for number in 0..60 {
        sandbox.put(&source, &Record::new(number.to_string()).on(number % 3)).await;
    }
    let (broker, plan) = (driver(), plan(&sandbox, &source));
    broker.prepare(&plan).await.unwrap();
    let mut consumer = broker.consume(&plan, 100).await.unwrap();
    let mut last = BTreeMap::new();
    let mut open = None;
    for _ in 0..60 {
        let delivery = next(&mut consumer).await;
        let position = delivery.origin.position.clone().unwrap();
        assert_eq!(&*position.topic, source);
        let before = last.insert(position.partition, position.offset);
        assert!(before.is_none_or(|before| before + 1 == position.offset), "{before:?} then {position:?}");
        if position.partition == 1 && position.offset == 5 {
            open = Some(delivery);
        } else {
            ack(&delivery).await.unwrap();
        }
    }
    let group = plan.group.as_deref().unwrap();
    sandbox.wait_for_commits(group, &source, 20 + 5 + 20).await;
    ack(&open.unwrap()).await.unwrap();
    sandbox.wait_for_commits(group, &source, 60).await;
    close(consumer).await;
    assert!(sandbox.committed(group, &source).await.values().all(|(_, text)| text == "reprieve/1 clean"));
    assert_eq!(sandbox.members(group).await, 0, "it has left");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_second_host_takes_over_was_not_decided_and_what_comes_back_is_not_run_again() {
    let sandbox = Sandbox::new();
    let source = sandbox.topic("orders", 2, &[]).await;
    for number in 0..8 {
        sandbox.put(&source, &Record::new(number.to_string()).on(number % 2)).await;
    }
    let (first, second, plan) = (driver(), driver(), plan(&sandbox, &source));
    let mut one = first.consume(&plan, 100).await.unwrap();
    let mut taken = Vec::new();
    for _ in 0..8 {
        taken.push(next(&mut one).await);
    }
    for delivery in taken.iter().filter(|it| !matches!(body(it), "2" | "3")) {
        ack(delivery).await.unwrap();
    }
    let mut two = second.consume(&plan, 100).await.unwrap();
    let moved = next(&mut two).await;
    assert!(matches!(body(&moved), "2" | "3"));
    let behind = taken.iter().find(|it| body(it) == body(&moved)).unwrap();
    within(behind.lost.cancelled()).await;
    assert!(matches!(ack(behind).await, Err(SettleError::Gone(_))));
    // Its outcome is durable all the same: when it comes back here it is known.
    drop(two);
    let back = loop {
        let delivery = next(&mut one).await;
        if body(&delivery) == body(&moved) {
            break delivery;
        }
    };
    assert_eq!((back.earlier, back.redelivered), (reprieve::broker::Earlier::Done, true));
    ack(&back).await.unwrap();
    drop(moved);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delayed_record_comes_back_by_the_brokers_clock_and_as_it_was() {
    let sandbox = Sandbox::new();
    let source = sandbox.topic("orders", 1, &[]).await;
    let (broker, (plan, tier)) = (driver(), tiered(&sandbox, &source, Duration::from_millis(1500)));
    broker.prepare(&plan).await.unwrap();
    let mut consumer = broker.consume(&plan, 100).await.unwrap();
    sandbox.put(&source, &Record::new("here")).await;
    ack(&next(&mut consumer).await).await.unwrap();

    let target = Target::Tier { tier: tier.clone(), route: plan.route.clone(), back_to: source.clone() };
    let message =
        Message { key: Some("k".into()), ..Message::new("later").with_id("m1").with_header("tenant", "acme") };
    let sent = Instant::now();
    broker.publish(&target, &message).await.unwrap();
    let published = Instant::now();
    let delivery = next(&mut consumer).await;
    let (earliest, latest) = (published.elapsed(), sent.elapsed());
    // Appended between the two.
    assert!(latest >= tier.delay, "after {latest:?}");
    assert!(earliest < tier.delay + Duration::from_secs(1), "after {earliest:?}");
    assert_eq!((&delivery.message.key, body(&delivery)), (&message.key, "later"));
    assert_eq!(delivery.message.headers.text("tenant"), Some("acme"));
    assert!(delivery.message.headers.get("reprieve-back-to").is_none());
    assert_eq!(sandbox.read(&source).await.len(), 1, "other groups read the source too");
    ack(&delivery).await.unwrap();
    wait_until_all_is_committed(&sandbox, &plan, &tier_topic(&plan, &tier)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn thousands_that_are_due_together_do_not_wait_for_each_other_also_after_a_restart() {
    let sandbox = Sandbox::new();
    let source = sandbox.topic("orders", 1, &[]).await;
    let (broker, (plan, tier)) = (driver(), tiered(&sandbox, &source, Duration::from_secs(4)));
    broker.prepare(&plan).await.unwrap();
    let target = Target::Tier { tier: tier.clone(), route: plan.route.clone(), back_to: source.clone() };
    let begin = Instant::now();
    let broker = Arc::new(broker);
    let publishing: Vec<_> = (0..3000_u32)
        .map(|number| {
            let (broker, target) = (Arc::clone(&broker), target.clone());
            tokio::spawn(async move { broker.publish(&target, &Message::new(number.to_string())).await.unwrap() })
        })
        .collect();
    for published in publishing {
        published.await.unwrap();
    }
    let published = Instant::now();
    // Nobody was there when they were appended, as after a restart: only the broker can tell how long they have waited.
    tokio::time::sleep(tier.delay.saturating_sub(published.elapsed())).await;
    let waited = Instant::now();
    let mut consumer = broker.consume(&plan, 3000).await.unwrap();
    let mut taken = Vec::new();
    for _ in 0..3000 {
        taken.push(next(&mut consumer).await);
        assert!(begin.elapsed() >= tier.delay);
        ack(taken.last().unwrap()).await.unwrap();
    }
    // Joining the group takes its time, and the delay is over.
    assert!(waited.elapsed() < tier.delay + Duration::from_secs(8), "{:?}", waited.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delayed_record_of_another_topic_is_put_back_there_and_only_then_decided() {
    let sandbox = Sandbox::new();
    let (source, other) = (sandbox.topic("failed", 1, &[]).await, sandbox.topic("orders", 1, &[]).await);
    let (broker, (plan, tier)) = (driver(), tiered(&sandbox, &source, Duration::from_millis(500)));
    broker.prepare(&plan).await.unwrap();
    let mut consumer = broker.consume(&plan, 100).await.unwrap();
    let target = Target::Tier { tier: tier.clone(), route: plan.route.clone(), back_to: other.clone() };
    broker.publish(&target, &Message::new("later").with_id("m1")).await.unwrap();
    assert!(tokio::time::timeout(Duration::from_millis(10), consumer.next()).await.is_err());
    let begin = Instant::now();
    while sandbox.read(&other).await.is_empty() {
        assert!(begin.elapsed() < DEADLINE);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let back = sandbox.read(&other).await.remove(0);
    assert_eq!((back.body(), back.text("reprieve-back-to")), ("later", None));
    wait_until_all_is_committed(&sandbox, &plan, &tier_topic(&plan, &tier)).await;
}

/// The clock that counts its delay is another broker's after a change of leaders.
#[tokio::test(flavor = "multi_thread")]
async fn a_delayed_record_of_another_topic_is_not_put_back_before_the_time_that_it_names() {
    let sandbox = Sandbox::new();
    let (source, other) = (sandbox.topic("failed", 1, &[]).await, sandbox.topic("orders", 1, &[]).await);
    let (broker, (plan, tier)) = (driver(), tiered(&sandbox, &source, Duration::from_secs(3)));
    broker.prepare(&plan).await.unwrap();
    // It joins while nothing is due.
    let _consumer = broker.consume(&plan, 100).await.unwrap();
    let target = Target::Tier { tier: tier.clone(), route: plan.route.clone(), back_to: other.clone() };
    // As where the leader's clock was so far behind.
    let due = Timestamp::now().after(tier.delay + Duration::from_millis(2500));
    broker.publish(&target, &Message::new("later").with_header("reprieve-due", due.to_string())).await.unwrap();
    let begin = Instant::now();
    while sandbox.read(&other).await.is_empty() {
        assert!(begin.elapsed() < DEADLINE);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let back = sandbox.read(&other).await.remove(0);
    let back = Timestamp(back.timestamp.unwrap().try_into().unwrap());
    assert!(back >= due, "{back}, not before {due}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delayed_record_that_its_topic_refuses_goes_to_the_route_and_holds_up_no_other() {
    let sandbox = Sandbox::new();
    let source = sandbox.topic("failed", 1, &[]).await;
    let narrow = sandbox.topic("narrow", 1, &[("max.message.bytes", "1000")]).await;
    // Takes no record without a key.
    let compacted = sandbox.topic("compacted", 1, &[("cleanup.policy", "compact")]).await;
    let (broker, (plan, tier)) = (driver(), tiered(&sandbox, &source, Duration::from_millis(500)));
    broker.prepare(&plan).await.unwrap();
    let mut consumer = broker.consume(&plan, 100).await.unwrap();
    for (topic, body) in [(&narrow, "x".repeat(2000)), (&compacted, "refused".to_owned())] {
        let target = Target::Tier { tier: tier.clone(), route: plan.route.clone(), back_to: topic.clone() };
        broker.publish(&target, &Message::new(body)).await.unwrap();
    }
    let deliveries = [next(&mut consumer).await, next(&mut consumer).await];
    let mut sizes = deliveries.each_ref().map(|delivery| body(delivery).len());
    sizes.sort_unstable();
    assert_eq!(sizes, ["refused".len(), 2000]);
    for delivery in &deliveries {
        ack(delivery).await.unwrap();
    }
    wait_until_all_is_committed(&sandbox, &plan, &tier_topic(&plan, &tier)).await;
}

/// As after somebody altered it while the host runs: a start refuses it.
#[tokio::test(flavor = "multi_thread")]
async fn a_record_of_a_tier_that_lost_the_brokers_time_comes_back_after_its_delay() {
    let sandbox = Sandbox::new();
    let source = sandbox.topic("orders", 1, &[]).await;
    let (broker, (plan, tier)) = (driver(), tiered(&sandbox, &source, Duration::from_secs(2)));
    sandbox.create(&tier_topic(&plan, &tier), 1, &[("message.timestamp.type", "CreateTime")]).await;
    let mut consumer = broker.consume(&plan, 100).await.unwrap();
    let target = Target::Tier { tier: tier.clone(), route: plan.route.clone(), back_to: source.clone() };
    let begin = Instant::now();
    broker.publish(&target, &Message::new("later")).await.unwrap();
    let delivery = next(&mut consumer).await;
    assert!(begin.elapsed() >= tier.delay, "{:?}", begin.elapsed());
    ack(&delivery).await.unwrap();
}
