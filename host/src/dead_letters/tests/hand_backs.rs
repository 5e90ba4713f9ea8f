//! Queues that throw away what is handed back too often.

use async_trait::async_trait;

use super::*;
use crate::broker::{Broker, BrokerError, Capabilities, Consumer, HandBackLimit, Plan, Prepared, PublishError, Target};
use crate::dead_letters::DeadLettersError;
use crate::topic::Topic;

/// A memory broker whose queues have this limit.
struct Limited(MemoryBroker, HandBackLimit);

#[async_trait]
impl Broker for Limited {
    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    async fn prepare(&self, plan: &Plan) -> Result<Prepared, BrokerError> {
        self.0.prepare(plan).await
    }

    async fn consume(&self, plan: &Plan, prefetch: u16) -> Result<Box<dyn Consumer>, BrokerError> {
        self.0.consume(plan, prefetch).await
    }

    async fn publish(&self, target: &Target, message: &Message) -> Result<(), PublishError> {
        self.0.publish(target, message).await
    }

    async fn depth(&self, topic: &Topic) -> Result<Option<u64>, BrokerError> {
        Broker::depth(&self.0, topic).await
    }

    async fn hand_back_limit(&self, _: &str) -> Result<HandBackLimit, BrokerError> {
        Ok(self.1.clone())
    }

    async fn close(&self) {
        self.0.close().await;
    }
}

fn unknown(at_most: Option<u64>) -> HandBackLimit {
    HandBackLimit::Unknown { at_most, why: "nobody told".to_owned() }
}

fn worn(id: &str) -> Message {
    letter(id, "late").with_header("x-delivery-count", 10u32)
}

#[tokio::test(start_paused = true)]
async fn a_letter_that_was_handed_back_often_is_renewed_so_that_no_limit_throws_it_away() {
    let broker = Limited(broker(&[worn("1"), letter("2", "late")]), HandBackLimit::Times(20));
    let seen = peek(&broker, &wanted(None, 5)).await.unwrap();
    assert_eq!((seen.renewed, seen.limit_unknown), (1, None));
    let left = broker.0.drain("dlq");
    assert_eq!(ids(&left), ["2", "1"]);
    assert_eq!(left[1].headers.get("x-delivery-count"), None);
    assert_eq!(left[1].headers.get("reprieve-attempts"), Some(&3u32.into()), "it is the same letter otherwise");
}

#[tokio::test(start_paused = true)]
async fn where_there_is_no_limit_every_letter_goes_back_to_its_place() {
    let broker = Limited(broker(&[worn("1"), letter("2", "late")]), HandBackLimit::None);
    assert_eq!(peek(&broker, &wanted(None, 5)).await.unwrap().renewed, 0);
    assert_eq!(on(&broker.0, "dlq"), ["1", "2"]);
}

#[tokio::test(start_paused = true)]
async fn where_the_limit_is_not_known_no_letter_is_handed_back_and_it_is_said_why() {
    let broker = Limited(broker(&[letter("1", "late"), letter("2", "late"), letter("3", "late")]), unknown(None));
    let seen = peek(&broker, &wanted(None, 2)).await.unwrap();
    assert_eq!((seen.renewed, seen.limit_unknown.as_deref()), (2, Some("nobody told")));
    assert_eq!(on(&broker.0, "dlq"), ["3", "1", "2"]);
    let none = Redrive { error_kind: Some("other".to_owned()), ..all() };
    let (done, _) = redrive(&broker, &none, &CancellationToken::new(), |_| {}).await.unwrap();
    assert_eq!((done.renewed, done.limit_unknown.as_deref()), (3, Some("nobody told")));
    assert_eq!(on(&broker.0, "dlq"), ["3", "1", "2"]);
}

#[tokio::test(start_paused = true)]
async fn no_more_letters_are_taken_than_are_to_be_put_back() {
    let letters: Vec<_> = (0..50).map(|n| letter(&n.to_string(), "late")).collect();
    let broker = Limited(broker(&letters), unknown(None));
    let (done, ended) =
        redrive(&broker, &Redrive { max: Some(1), ..all() }, &CancellationToken::new(), |_| {}).await.unwrap();
    // The one behind it came when the first was acknowledged; every letter that is taken and stays is renewed here.
    assert_eq!((done.total(), done.renewed, ended), (1, 1, Ended::Max));
}

#[tokio::test(start_paused = true)]
async fn letters_that_stay_do_not_keep_those_behind_them_from_going_back() {
    let tired = |id| letter(id, "late").with_header("reprieve-redrives", 3u32);
    let broker = broker(&[tired("1"), tired("2"), letter("3", "late"), tired("4"), letter("5", "late")]);
    for (dry_run, orders) in [(true, vec![]), (false, vec!["3"])] {
        let (done, ended) = run(&broker, &Redrive { max: Some(1), dry_run, ..all() }).await;
        assert_eq!((done.total(), done.skipped.len(), ended), (1, 2, Ended::Max));
        assert_eq!(on(&broker, "orders"), orders);
    }
    assert_eq!(on(&broker, "dlq"), ["1", "2", "4", "5"]);
}

#[tokio::test(start_paused = true)]
async fn a_limit_that_is_surely_too_low_is_refused() {
    for limit in [HandBackLimit::Times(2), unknown(Some(2))] {
        let refused = peek(&Limited(three(), limit), &wanted(None, 2)).await.unwrap_err();
        assert!(matches!(refused, DeadLettersError::LimitTooLow { limit: 2, .. }), "{refused}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_renewed_letter_goes_to_its_queue_only_and_does_not_expire() {
    let copies = HeaderValue::Array(vec!["other".into()]);
    let mut foreign = Message::new("x")
        .with_id("f")
        .with_header("CC", copies.clone())
        .with_header("BCC", copies.clone())
        .with_header("x-death", HeaderValue::Array(Vec::new()))
        .with_header("x-first-death-queue", "orders");
    foreign.properties.expiration = Some("60000".to_owned());
    foreign.properties.user_id = Some("sender".to_owned());
    let broker = Limited(broker(&[foreign]), unknown(None));
    assert_eq!(peek(&broker, &wanted(None, 1)).await.unwrap().renewed, 1);
    let [message] = &broker.0.drain("dlq")[..] else { panic!("one message") };
    assert_eq!((&message.properties.expiration, &message.properties.user_id), (&None, &None));
    let headers: Vec<_> = message.headers.iter().map(|(name, value)| (name, value.clone())).collect();
    assert_eq!(
        headers,
        [
            ("reprieve-cc", copies.clone()),
            ("reprieve-bcc", copies),
            ("reprieve-expiration", "60000".into()),
            ("reprieve-user-id", "sender".into()),
        ]
    );
}
