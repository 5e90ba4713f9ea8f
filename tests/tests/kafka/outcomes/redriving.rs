//! Dead letters: looked at without a trace, put back with their position.

use std::collections::BTreeMap;
use std::time::Duration;

use reprieve::broker::{Broker, Browsing, Settlement};
use reprieve::dead_letters::peek::{Peek, peek};
use reprieve::dead_letters::redrive::{Done, Ended, Redrive, redrive};
use reprieve::topic::Topic;
use reprieve_tests::kafka::{Record, Sandbox};
use tokio_util::sync::CancellationToken;

use super::kafka;

struct Stage {
    sandbox: Sandbox,
    orders: String,
    dlq: String,
}

impl Stage {
    async fn new(partitions: i32) -> Self {
        let sandbox = Sandbox::new();
        let orders = sandbox.topic("orders", 2, &[]).await;
        let dlq = sandbox.topic("dlq", partitions, &[]).await;
        Self { sandbox, orders, dlq }
    }

    async fn letter(&self, id: &str, kind: &str, partition: i32) {
        let mut record = Record::new(format!("body of {id}")).with_key(id.to_owned()).on(partition);
        for (name, value) in [
            ("tenant", "blue"),
            ("reprieve-id", id),
            ("reprieve-attempts", "3"),
            ("reprieve-origin-topic", &self.orders),
            ("reprieve-origin-partition", "1"),
            ("reprieve-origin-offset", "42"),
            ("reprieve-origin-group", "reprieve.orders"),
            ("reprieve-route", "orders"),
            ("reprieve-error-kind", kind),
            ("reprieve-error", "it broke"),
        ] {
            record = record.with_header(name, Some(value.as_bytes()));
        }
        self.sandbox.put(&self.dlq, &record).await;
    }

    fn group(&self) -> String {
        format!("reprieve.redrive.{}", self.dlq)
    }

    fn all(&self) -> Redrive {
        Redrive {
            queue: self.dlq.clone(),
            prefixes: vec!["reprieve-".to_owned()],
            error_kind: None,
            max: None,
            interval: Duration::ZERO,
            max_redrives: 3,
            to: None,
            dry_run: false,
        }
    }

    async fn redrive(&self, wanted: &Redrive) -> (Done, Ended) {
        let broker = kafka();
        let redriven = redrive(&broker, wanted, &CancellationToken::new(), |_| {}).await.unwrap();
        broker.close().await;
        redriven
    }

    async fn on_orders(&self) -> Vec<String> {
        let mut bodies: Vec<_> =
            self.sandbox.read(&self.orders).await.iter().map(|record| record.body().to_owned()).collect();
        bodies.sort();
        bodies
    }
}

#[tokio::test]
async fn peeking_shows_every_letter_and_leaves_no_trace() {
    let stage = Stage::new(2).await;
    for (id, partition) in [("1", 0), ("2", 1), ("3", 0)] {
        stage.letter(id, "late", partition).await;
    }
    let broker = kafka();
    let wanted = Peek { queue: stage.dlq.clone(), prefixes: vec!["reprieve-".to_owned()], error_kind: None, max: 10 };
    for _ in 0..2 {
        let seen = peek(&broker, &wanted).await.unwrap();
        assert_eq!((seen.letters.len(), seen.depth, seen.renewed), (3, 3, 0));
        let story = seen.letters[0].story.as_ref().unwrap();
        assert_eq!((story.attempts, story.origin_place), (3, Some((1, 42))));
    }
    assert_eq!(stage.sandbox.committed(&stage.group(), &stage.dlq).await, BTreeMap::new());
    assert_eq!(stage.sandbox.members(&stage.group()).await, 0);
    let missing = Peek { queue: stage.sandbox.name("nowhere"), ..wanted };
    assert!(peek(&broker, &missing).await.unwrap_err().to_string().contains("there is no topic"));
}

#[tokio::test]
async fn a_redriven_message_is_the_senders_and_is_not_put_back_twice() {
    let stage = Stage::new(1).await;
    stage.letter("1", "late", 0).await;
    let (done, ended) = stage.redrive(&stage.all()).await;
    assert_eq!((done.total(), done.unacknowledged, ended), (1, 0, Ended::All));
    let [record] = &stage.sandbox.read(&stage.orders).await[..] else { panic!("one record") };
    assert_eq!((record.key.as_deref(), record.body()), (Some(&b"1"[..]), "body of 1"));
    let headers: Vec<_> = record.headers.iter().map(|(name, _)| (name.as_str(), record.text(name))).collect();
    assert_eq!(
        headers,
        [("tenant", Some("blue")), ("reprieve-redrives", Some("1")), ("reprieve-id", Some("1"))],
        "nothing of the failure, and nothing of its place"
    );
    let broker = kafka();
    assert_eq!(broker.depth(&Topic::from(stage.dlq.as_str())).await.unwrap(), Some(0));
    let (done, _) = stage.redrive(&stage.all()).await;
    assert_eq!((done.total(), stage.on_orders().await.len()), (0, 1));
}

#[tokio::test]
async fn letters_from_between_others_are_remembered_and_the_others_stay() {
    let stage = Stage::new(1).await;
    for (id, kind) in [("1", "late"), ("2", "invalid"), ("3", "late"), ("4", "invalid"), ("5", "late")] {
        stage.letter(id, kind, 0).await;
    }
    let invalid = Redrive { error_kind: Some("invalid".to_owned()), ..stage.all() };
    let (done, ended) = stage.redrive(&invalid).await;
    assert_eq!((done.total(), done.filtered, ended), (2, 3, Ended::All));
    let broker = kafka();
    assert_eq!(broker.depth(&Topic::from(stage.dlq.as_str())).await.unwrap(), Some(3));
    let (done, _) = stage.redrive(&invalid).await;
    assert_eq!((done.total(), done.depth, done.filtered), (0, 3, 3), "none goes back twice");
    let (done, _) = stage.redrive(&stage.all()).await;
    assert_eq!((done.total(), done.depth), (3, 3));
    let bodies = ["body of 1", "body of 2", "body of 3", "body of 4", "body of 5"];
    assert_eq!(stage.on_orders().await, bodies);
    assert_eq!(stage.sandbox.committed(&stage.group(), &stage.dlq).await[&0].0, 5);
}

#[tokio::test]
async fn a_dry_run_and_a_missing_origin_commit_nothing() {
    let stage = Stage::new(1).await;
    stage.letter("1", "late", 0).await;
    let (done, _) = stage.redrive(&Redrive { dry_run: true, ..stage.all() }).await;
    assert_eq!(done.redriven[&stage.orders], 1);
    let (_, ended) = stage.redrive(&Redrive { to: Some(stage.sandbox.name("nowhere")), ..stage.all() }).await;
    let Ended::Stopped(why) = ended else { panic!("{ended:?}") };
    assert!(why.contains("there is no topic") && why.contains("--to"), "{why}");
    assert_eq!(stage.sandbox.committed(&stage.group(), &stage.dlq).await, BTreeMap::new());
    assert_eq!(stage.on_orders().await, Vec::<String>::new());
}

#[tokio::test]
async fn of_two_redrives_at_a_time_one_is_refused() {
    let stage = Stage::new(2).await;
    stage.letter("1", "late", 0).await;
    let (one, other) = (kafka(), kafka());
    let mut first = one.browse(&stage.dlq, Browsing::Take).await.unwrap().unwrap();
    let refused = other.browse(&stage.dlq, Browsing::Take).await.err().expect("it must be refused").to_string();
    assert!(refused.contains("another redrive"), "{refused}");
    let letter = first.next().await.unwrap().unwrap();
    letter.settler.settle(Settlement::Ack).await.unwrap();
    first.close().await;
    let mut second = other.browse(&stage.dlq, Browsing::Take).await.unwrap().unwrap();
    assert!(second.next().await.unwrap().is_none(), "what the first took is gone");
    second.close().await;
}

#[tokio::test]
async fn letters_that_come_meanwhile_are_not_looked_at() {
    let stage = Stage::new(1).await;
    stage.letter("1", "late", 0).await;
    let round = Redrive { to: Some(stage.dlq.clone()), ..stage.all() };
    let (done, ended) = stage.redrive(&round).await;
    assert_eq!((done.total(), ended), (1, Ended::All));
    let records = stage.sandbox.read(&stage.dlq).await;
    assert_eq!(records.len(), 2);
    assert_eq!(records[1].text("reprieve-redrives"), Some("1"));
}
