//! Ordering by key on the memory broker.

mod chance;

use std::collections::VecDeque;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::FutureExt;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::OrderedConsumer;
use crate::broker::memory::MemoryBroker;
use crate::broker::{
    Broker, BrokerError, Consumer, Delivery, Earlier, Origin, Plan, Position, Prepared, SettleError, Settlement,
    Settler,
};
use crate::handler::Call;
use crate::handler::closure::handler_fn;
use crate::handler_error::HandlerError;
use crate::message::Message;
use crate::observer::Observer;
use crate::route::tests::{Running, Script, dead_letter, work};
use crate::route::{Route, RouteSpec, RouteWork, Shutdown};

/// A route that does not run, for its lanes, and the broker that it would consume.
struct Bench {
    broker: MemoryBroker,
    route: Arc<Route>,
}

impl Bench {
    fn new() -> Self {
        let broker = MemoryBroker::new(100_000);
        let nothing = work(handler_fn(|_: Call| async { Ok::<(), HandlerError>(()) }));
        let mut spec = RouteSpec::new("orders", "orders", Arc::new(broker.clone()), nothing);
        spec.ordering = Some("header:customer".parse().unwrap());
        let route = Route::new(spec, Script::new([dead_letter()]), Observer::new(), Shutdown::default());
        Self { broker, route: Arc::new(route) }
    }

    async fn consumer(&self) -> OrderedConsumer {
        let inner = self.broker.consume(&Plan::new("orders", "orders"), u16::MAX).await.unwrap();
        OrderedConsumer::new(Arc::clone(&self.route), inner)
    }

    fn send(&self, id: &str, customer: &str) {
        self.broker.publish_to("orders", Message::new("b").with_id(id).with_header("customer", customer)).unwrap();
    }

    fn waiting(&self) -> i64 {
        self.route.metrics.waiting.get()
    }
}

/// The next delivery, where there is one now.
fn now(consumer: &mut OrderedConsumer) -> Option<Delivery> {
    consumer.next().now_or_never().map(|delivery| delivery.expect("a consumer that is not lost"))
}

fn id(delivery: Option<&Delivery>) -> Option<&str> {
    delivery.and_then(|delivery| delivery.message.id.as_deref())
}

async fn acknowledge(delivery: Delivery) {
    delivery.settler.settle(Settlement::Ack).await.unwrap();
}

#[tokio::test]
async fn a_key_in_work_holds_back_its_own_messages_only() {
    let bench = Bench::new();
    let mut consumer = bench.consumer().await;
    for (id, customer) in [("a1", "a"), ("a2", "a"), ("a3", "a"), ("b1", "b"), ("b2", "b")] {
        bench.send(id, customer);
    }
    let first = now(&mut consumer).unwrap();
    let other = now(&mut consumer).unwrap();
    assert_eq!((id(Some(&first)), id(Some(&other))), (Some("a1"), Some("b1")));
    assert_eq!(id(now(&mut consumer).as_ref()), None);
    assert_eq!(bench.waiting(), 3);
    acknowledge(first).await;
    let second = now(&mut consumer).unwrap();
    assert_eq!(id(Some(&second)), Some("a2"));
    bench.send("a4", "a");
    assert_eq!(id(now(&mut consumer).as_ref()), None);
    acknowledge(second).await;
    let third = now(&mut consumer).unwrap();
    assert_eq!(id(Some(&third)), Some("a3"), "what came later waits behind");
    drop(consumer);
    assert_eq!(bench.waiting(), 0);
}

/// A partition of a log, whose consumer keeps what is handed back.
struct Log {
    fresh: VecDeque<Delivery>,
    back: mpsc::UnboundedReceiver<Delivery>,
}

impl Log {
    /// With a record of each of these customers, in this order.
    fn of(customers: &[&str]) -> Box<Self> {
        let (sender, back) = mpsc::unbounded_channel();
        let record = |(offset, customer): (usize, &&str)| {
            let message = Message::new("b").with_id(offset.to_string()).with_header("customer", *customer);
            logged(Arc::new(message), i64::try_from(offset).unwrap(), false, sender.clone())
        };
        Box::new(Self { fresh: customers.iter().enumerate().map(record).collect(), back })
    }
}

fn logged(message: Arc<Message>, offset: i64, redelivered: bool, back: mpsc::UnboundedSender<Delivery>) -> Delivery {
    let position = Position { topic: "orders".into(), partition: 0, offset, group: "g".into() };
    Delivery {
        message: Arc::clone(&message),
        origin: Origin { position: Some(Box::new(position)), ..Origin::default() },
        redelivered,
        earlier: Earlier::Nothing,
        settler: Arc::new(Kept { message, offset, back }),
        lost: CancellationToken::new(),
    }
}

struct Kept {
    message: Arc<Message>,
    offset: i64,
    back: mpsc::UnboundedSender<Delivery>,
}

#[async_trait]
impl Settler for Kept {
    async fn settle(&self, settlement: Settlement) -> Result<(), SettleError> {
        if settlement != Settlement::Ack {
            self.back.send(logged(Arc::clone(&self.message), self.offset, true, self.back.clone())).unwrap();
        }
        Ok(())
    }
}

#[async_trait]
impl Consumer for Log {
    async fn next(&mut self) -> Result<Delivery, BrokerError> {
        match self.fresh.pop_front() {
            Some(delivery) => Ok(delivery),
            None => Ok(self.back.recv().await.unwrap()),
        }
    }

    fn given_back(&mut self) -> Option<Delivery> {
        self.back.try_recv().ok()
    }

    async fn stop(&mut self) {}
}

async fn hand_back(delivery: Delivery) {
    delivery.settler.settle(Settlement::Reject).await.unwrap();
}

#[tokio::test]
async fn what_is_handed_back_is_not_overtaken_by_its_own_key() {
    let bench = Bench::new();
    let mut consumer = OrderedConsumer::new(Arc::clone(&bench.route), Log::of(&["a", "a", "b", "a"]));
    let first = now(&mut consumer).unwrap();
    let other = now(&mut consumer).unwrap();
    assert_eq!((id(Some(&first)), id(Some(&other))), (Some("0"), Some("2")), "the second of its key waits");
    hand_back(first).await;
    let again = now(&mut consumer).unwrap();
    assert_eq!((id(Some(&again)), again.redelivered), (Some("0"), true));
    assert!(now(&mut consumer).is_none());
    acknowledge(again).await;
    let second = now(&mut consumer).unwrap();
    assert_eq!(id(Some(&second)), Some("1"));
    // One that goes back a second time, with others behind it.
    hand_back(second).await;
    let again = now(&mut consumer).unwrap();
    assert_eq!(id(Some(&again)), Some("1"));
    acknowledge(again).await;
    assert_eq!(id(now(&mut consumer).as_ref()), Some("3"));
    drop(other);
}

#[tokio::test]
async fn what_is_handed_back_while_a_later_one_of_its_key_arrives_is_first_all_the_same() {
    let bench = Bench::new();
    let mut consumer = OrderedConsumer::new(Arc::clone(&bench.route), Log::of(&["a"]));
    let first = now(&mut consumer).unwrap();
    hand_back(first).await;
    let (sender, _) = mpsc::unbounded_channel();
    let later = Message::new("b").with_id("1").with_header("customer", "a");
    // Between two looks of the consumer.
    assert!(consumer.arrive(logged(Arc::new(later), 1, false, sender)).is_none());
    let again = now(&mut consumer).unwrap();
    assert_eq!(id(Some(&again)), Some("0"));
    assert!(now(&mut consumer).is_none());
    acknowledge(again).await;
    assert_eq!(id(now(&mut consumer).as_ref()), Some("1"));
}

#[tokio::test]
async fn a_message_without_the_key_waits_for_nobody() {
    let bench = Bench::new();
    let mut consumer = bench.consumer().await;
    bench.send("a1", "a");
    for id in ["m1", "m2"] {
        bench.broker.publish_to("orders", Message::new("b").with_id(id)).unwrap();
    }
    let taken: Vec<_> = (0..3).map(|_| now(&mut consumer).unwrap()).collect();
    assert_eq!(id(taken.last()), Some("m2"));
}

#[tokio::test]
async fn a_lost_delivery_keeps_its_lane_until_its_handler_has_ended() {
    let bench = Bench::new();
    let mut consumer = bench.consumer().await;
    bench.send("a1", "a");
    bench.send("a2", "a");
    bench.send("b1", "b");
    let running = now(&mut consumer).unwrap();
    let other = now(&mut consumer).unwrap();
    bench.broker.disconnect();
    assert!(matches!(consumer.next().await, Err(BrokerError::Lost { .. })));
    drop(consumer);
    drop(other);

    let mut consumer = bench.consumer().await;
    let other = now(&mut consumer).unwrap();
    assert_eq!(id(Some(&other)), Some("b1"));
    assert_eq!(id(now(&mut consumer).as_ref()), None, "the first still runs");
    drop(running);
    let again = now(&mut consumer).unwrap();
    assert_eq!((id(Some(&again)), again.redelivered), (Some("a1"), true));
    acknowledge(again).await;
    assert_eq!(id(now(&mut consumer).as_ref()), Some("a2"));
}

#[tokio::test]
async fn a_stop_hands_back_what_waits_and_lets_the_rest_end() {
    let bench = Bench::new();
    let mut consumer = bench.consumer().await;
    for id in ["a1", "a2", "a3"] {
        bench.send(id, "a");
    }
    let running = now(&mut consumer).unwrap();
    assert_eq!(id(now(&mut consumer).as_ref()), None);
    bench.send("b1", "b");
    consumer.stop().await;
    acknowledge(running).await;
    drop(consumer);
    assert_eq!(bench.waiting(), 0);
    let back: Vec<_> = bench.broker.drain("orders").iter().map(|message| message.id.clone().unwrap()).collect();
    assert_eq!(back, ["a2", "a3", "b1"]);
}

#[tokio::test]
async fn ten_thousand_keys_leave_nothing_behind() {
    let bench = Bench::new();
    let mut consumer = bench.consumer().await;
    for number in 0..10_000 {
        for round in 0..2 {
            bench.send(&format!("{number}.{round}"), &number.to_string());
        }
    }
    for _ in 0..2 {
        let mut taken = Vec::new();
        while let Some(delivery) = now(&mut consumer) {
            taken.push(delivery);
        }
        assert_eq!(taken.len(), 10_000);
        assert_eq!(bench.route.lanes.busy(), 10_000);
        for delivery in taken {
            acknowledge(delivery).await;
        }
    }
    assert_eq!((bench.route.lanes.busy(), bench.waiting(), consumer.waiting.len()), (0, 0, 0));
    assert_eq!(bench.route.lanes.next_freed(), None);
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_hands_waiting_messages_back_untouched() {
    let slow = RouteWork::Handle {
        handler: Arc::new(handler_fn(|_: Call| async {
            tokio::time::sleep(std::time::Duration::from_secs(5)).await;
            Ok::<(), HandlerError>(())
        })),
        timeout: std::time::Duration::from_secs(10),
    };
    let change = |spec: &mut RouteSpec| spec.ordering = Some("header:customer".parse().unwrap());
    let running = Running::start_on(MemoryBroker::new(100), Script::new([dead_letter()]), slow, change).await;
    let broker = running.broker.clone();
    for id in ["a1", "a2", "a3"] {
        let message = Message::new("b").with_id(id).with_header("customer", "a");
        broker.publish_to("orders", message).unwrap();
    }
    broker.wait_for("orders", |depth| depth.unsettled == 3).await;
    running.stop().await;
    let left = broker.drain("orders");
    let ids: Vec<_> = left.iter().map(|message| message.id.as_deref().unwrap()).collect();
    assert_eq!(ids, ["a2", "a3"], "the first was handled");
    assert!(left.iter().all(|message| message.headers.iter().count() == 1), "nothing of ours is on them");
}

#[test]
fn a_source_that_several_hosts_may_share_is_remarked() {
    let prepared = |single| Prepared {
        hold: None,
        requeue_is_safe: true,
        single_active_consumer: single,
        max_header_bytes: None,
        remarks: Vec::new(),
    };
    assert_eq!(super::doubt("q", &prepared(Some(true))), None);
    assert!(super::doubt("q", &prepared(Some(false))).unwrap().contains("x-single-active-consumer"));
    assert!(super::doubt("q", &prepared(None)).unwrap().starts_with("not checked"));
}
