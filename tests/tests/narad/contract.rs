//! What the driver needs of any Narad: against the stand-in always, and against a real one where there is one.

use std::time::Duration;

use bytes::Bytes;
use reprieve::broker::narad::{Narad, NaradSettings};
use reprieve::broker::{Broker as _, Browsing, Consumer, Plan, Settlement, Target};
use reprieve::message::Message;
use reprieve_tests::narad::{Cluster, Release};
use uuid::Uuid;

use super::{ack, next, tier, topic};

/// The address of a real node with security off, such as `cargo xtask narad` prints.
const VARIABLE: &str = "REPRIEVE_TEST_NARAD";

/// The driver, and topics that nobody else has.
struct Stage {
    driver: Narad,
    route: String,
    source: String,
    letters: String,
}

impl Stage {
    /// Makes the source by hand, as users do, with leases of two seconds.
    async fn new(url: &str) -> Self {
        let name = format!("contract-{}", Uuid::new_v4().simple());
        let source = format!("{name}.orders");
        let body = format!("{{\"name\":\"{source}\",\"visibility_timeout_ms\":2000}}");
        let made = reprieve_tests::narad::post(url, "/v1/topics", &body).await;
        assert_eq!(made, 201);
        let driver = Narad::new(NaradSettings::new("main", url)).unwrap();
        Self { driver, letters: format!("{name}.dlq"), source, route: name }
    }

    fn plan(&self) -> Plan {
        Plan {
            tiers: vec![tier(1500)],
            topics: vec![self.letters.as_str().into()],
            ..Plan::new(&self.route, &self.source)
        }
    }

    async fn consumer(&self) -> Box<dyn Consumer> {
        self.driver.consume(&self.plan(), 10).await.unwrap()
    }
}

async fn contract(url: &str) {
    let stage = Stage::new(url).await;
    stage.driver.prepare(&stage.plan()).await.unwrap();
    // What it has made it finds to be right.
    stage.driver.prepare(&stage.plan()).await.unwrap();
    bodies_come_back(&stage).await;
    leases_are_kept_and_given_back(&stage).await;
    a_tier_delays(&stage).await;
    letters_can_be_looked_at_and_taken(&stage).await;
}

async fn bodies_come_back(stage: &Stage) {
    let mut consumer = stage.consumer().await;
    let bodies: [Option<&[u8]>; 6] =
        [None, Some(b""), Some(b"{\"b\":1,  \"a\":1.0}"), Some(b"text"), Some(b"\"hi\""), Some(b"\x00\xff")];
    for body in bodies {
        let message = Message { body: body.map(Bytes::copy_from_slice), key: Some("k 1".into()), ..Message::default() };
        let message = message.with_id("m-1").with_header("tenant", "acme");
        stage.driver.publish(&topic(&stage.source), &message).await.unwrap();
        let delivery = next(&mut *consumer).await;
        assert_eq!((&delivery.message.body, &delivery.message.key), (&message.body, &message.key));
        assert_eq!((&delivery.message.id, &delivery.message.headers), (&message.id, &message.headers));
        ack(&delivery).await;
    }
    consumer.stop().await;
    consumer.close().await;
}

async fn leases_are_kept_and_given_back(stage: &Stage) {
    let mut consumer = stage.consumer().await;
    let mut others = stage.consumer().await;
    stage.driver.publish(&topic(&stage.source), &Message::new("held")).await.unwrap();
    let delivery = tokio::select! {
        delivery = next(&mut *consumer) => delivery,
        delivery = next(&mut *others) => delivery,
    };
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(!delivery.lost.is_cancelled());
    delivery.settler.settle(Settlement::Reject).await.unwrap();
    let again = tokio::select! {
        delivery = next(&mut *consumer) => delivery,
        delivery = next(&mut *others) => delivery,
    };
    assert!(again.redelivered);
    ack(&again).await;
    for consumer in [&mut consumer, &mut others] {
        consumer.stop().await;
        consumer.close().await;
    }
}

async fn a_tier_delays(stage: &Stage) {
    let mut consumer = stage.consumer().await;
    let target = Target::Tier { tier: tier(1500), route: stage.route.clone(), back_to: stage.source.clone() };
    let begin = std::time::Instant::now();
    stage.driver.publish(&target, &Message::new("later").with_id("m-2")).await.unwrap();
    let delivery = next(&mut *consumer).await;
    assert!(begin.elapsed() >= Duration::from_millis(1450), "{:?}", begin.elapsed());
    assert_eq!(delivery.message.id.as_deref(), Some("m-2"));
    ack(&delivery).await;
    consumer.stop().await;
    consumer.close().await;
}

async fn letters_can_be_looked_at_and_taken(stage: &Stage) {
    for number in 0..3 {
        let message = Message::new("letter").with_id(format!("l-{number}"));
        stage.driver.publish(&topic(&stage.letters), &message).await.unwrap();
    }
    // A node shows what it has accepted a moment later.
    for tries in 0.. {
        let mut browser = stage.driver.browse(&stage.letters, Browsing::Look).await.unwrap().expect("a browser");
        let mut seen = 0;
        while browser.next().await.unwrap().is_some() {
            seen += 1;
        }
        if seen == 3 {
            break;
        }
        assert!(tries < 100, "{seen} of 3 letters are seen");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let mut browser = stage.driver.browse(&stage.letters, Browsing::Take).await.unwrap().expect("a browser");
    let mut taken = 0;
    while let Some(delivery) = browser.next().await.unwrap() {
        ack(&delivery).await;
        taken += 1;
    }
    browser.close().await;
    assert_eq!(taken, 3);
}

#[tokio::test]
async fn the_stand_in_of_each_release_keeps_the_contract() {
    for release in [Release::V2_0, Release::V2_2, Release::V3_1] {
        let cluster = Cluster::start(release, 1).await;
        contract(&cluster.url()).await;
    }
}

#[tokio::test]
#[ignore = "needs a real Narad: set REPRIEVE_TEST_NARAD to what `cargo xtask narad` prints"]
async fn a_real_narad_keeps_the_contract() {
    let url = std::env::var(VARIABLE).unwrap_or_else(|_| panic!("{VARIABLE} is not set: run `cargo xtask narad`"));
    contract(&url).await;
}
