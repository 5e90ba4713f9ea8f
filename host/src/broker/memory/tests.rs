use futures_util::FutureExt;

use super::*;
use crate::broker::{Delivery, SettleError, Settlement};

fn broker() -> MemoryBroker {
    MemoryBroker::default()
}

fn message(id: &str) -> Message {
    Message::new("body").with_id(id)
}

fn tier(seconds: u64) -> Tier {
    Tier { name: format!("{seconds}s"), delay: Duration::from_secs(seconds) }
}

fn back_to_orders(seconds: u64) -> Target {
    Target::Tier { tier: tier(seconds), route: "orders".into(), back_to: "orders".into() }
}

fn plan(topics: Vec<Topic>) -> Plan {
    Plan { tiers: vec![tier(30)], topics, ..Plan::new("orders", "orders") }
}

fn send(broker: &MemoryBroker, ids: &[&str]) {
    for id in ids {
        broker.publish_to("orders", message(id)).unwrap();
    }
}

fn id(message: &Message) -> &str {
    message.id.as_deref().unwrap()
}

fn ids(messages: &[Arc<Message>]) -> Vec<&str> {
    messages.iter().map(|message| id(message)).collect()
}

async fn consumer(broker: &MemoryBroker, prefetch: u16) -> Box<dyn Consumer> {
    broker.consume(&Plan::new("orders", "orders"), prefetch).await.unwrap()
}

/// The next delivery. With paused time a minute passes at once when nothing else happens, so a lost wake-up fails the test.
async fn next(consumer: &mut Box<dyn Consumer>) -> Delivery {
    let delivery = tokio::time::timeout(Duration::from_secs(60), consumer.next()).await;
    delivery.expect("nothing came").map_err(|error| error.to_string()).unwrap()
}

/// There is nothing to take now.
fn nothing(consumer: &mut Box<dyn Consumer>) -> bool {
    consumer.next().now_or_never().is_none()
}

async fn seconds(seconds: u64) {
    tokio::time::advance(Duration::from_secs(seconds)).await;
}

#[tokio::test]
async fn what_is_given_back_returns_to_the_head_and_is_marked_redelivered() {
    for settlement in [Settlement::Reject, Settlement::Release] {
        let broker = broker();
        send(&broker, &["1", "2"]);
        let mut consumer = consumer(&broker, 10).await;
        next(&mut consumer).await.settler.settle(settlement).await.unwrap();

        let again = next(&mut consumer).await;
        assert_eq!((id(&again.message), again.redelivered), ("1", true));
        assert!(!next(&mut consumer).await.redelivered);
    }
}

#[tokio::test]
async fn a_dropped_consumer_gives_its_deliveries_back_in_their_order() {
    let broker = broker();
    send(&broker, &["1", "2", "3"]);
    let mut first = consumer(&broker, 10).await;
    let (one, two) = (next(&mut first).await, next(&mut first).await);
    drop(first);

    assert!(one.lost.is_cancelled() && two.lost.is_cancelled());
    assert!(matches!(one.settler.settle(Settlement::Ack).await, Err(SettleError::Gone(_))));
    assert_eq!(ids(&broker.peek("orders", 10)), ["1", "2", "3"]);
    assert!(next(&mut consumer(&broker, 10).await).await.redelivered);
}

#[tokio::test]
async fn a_delivery_that_is_dropped_unsettled_stays_with_its_consumer() {
    let broker = broker();
    send(&broker, &["1"]);
    let mut consumer = consumer(&broker, 10).await;
    drop(next(&mut consumer).await);
    assert!(nothing(&mut consumer));
    assert_eq!(broker.depth("orders").unsettled, 1);
}

#[tokio::test]
async fn a_cut_connection_ends_consumers_that_wait_and_gives_deliveries_back() {
    let broker = broker();
    send(&broker, &["1"]);
    let mut consumer = consumer(&broker, 10).await;
    let delivery = next(&mut consumer).await;

    let (ended, ()) = tokio::join!(consumer.next(), async { broker.disconnect() });

    let Err(BrokerError::Lost { source_topic, .. }) = ended else { panic!("the consumer goes on") };
    assert_eq!(source_topic, "orders");
    assert!(delivery.lost.is_cancelled());
    assert!(consumer.next().await.is_err());
    assert_eq!(ids(&broker.peek("orders", 10)), ["1"]);
}

#[tokio::test]
async fn a_full_queue_refuses_more_until_there_is_room() {
    let broker = MemoryBroker::new(2);
    send(&broker, &["1", "2"]);
    let error = broker.publish_to("orders", message("3")).unwrap_err();
    assert_eq!(error.to_string(), "queue orders is full: it holds 2 messages, which is its capacity");
    assert!(matches!(error, PublishError::Outage(_)));

    assert_eq!(ids(&broker.drain("orders")), ["1", "2"]);
    broker.publish_to("orders", message("3")).unwrap();
}

#[tokio::test]
async fn what_is_given_back_fits_into_a_full_queue() {
    let broker = MemoryBroker::new(1);
    send(&broker, &["1"]);
    let mut consumer = consumer(&broker, 1).await;
    let delivery = next(&mut consumer).await;
    send(&broker, &["2"]);
    delivery.settler.settle(Settlement::Release).await.unwrap();
    assert_eq!(ids(&broker.drain("orders")), ["1", "2"]);
}

#[tokio::test(start_paused = true)]
async fn a_tier_brings_a_message_back_when_it_is_due_and_not_before() {
    let broker = broker();
    broker.publish(&back_to_orders(30), &message("1")).await.unwrap();
    tokio::time::advance(Duration::from_millis(29_999)).await;
    let mut consumer = consumer(&broker, 1).await;
    assert!(nothing(&mut consumer));
    assert_eq!(broker.depth("orders"), Depth { delayed: 1, ..Depth::default() });

    tokio::time::advance(Duration::from_millis(1)).await;
    let delivery = next(&mut consumer).await;
    assert_eq!((id(&delivery.message), delivery.redelivered), ("1", false));
}

#[tokio::test(start_paused = true)]
async fn a_waiting_consumer_wakes_when_a_tier_is_due() {
    let broker = broker();
    let mut consumer = consumer(&broker, 1).await;
    let start = Instant::now();
    // The longer one is published first: the consumer has to learn of the shorter one while it waits.
    broker.publish(&back_to_orders(300), &message("late")).await.unwrap();
    let (delivery, ()) = tokio::join!(next(&mut consumer), async {
        broker.publish(&back_to_orders(30), &message("soon")).await.unwrap();
    });
    assert_eq!((id(&delivery.message), start.elapsed().as_secs()), ("soon", 30));
}

#[tokio::test(start_paused = true)]
async fn messages_of_tiers_come_back_in_the_order_in_which_they_are_due() {
    let broker = broker();
    for (seconds, id) in [(30, "b"), (5, "a"), (30, "c")] {
        broker.publish(&back_to_orders(seconds), &message(id)).await.unwrap();
    }
    seconds(30).await;
    assert_eq!(ids(&broker.drain("orders")), ["a", "b", "c"]);
}

#[tokio::test(start_paused = true)]
async fn a_full_origin_keeps_a_due_message_waiting() {
    let broker = MemoryBroker::new(1);
    broker.publish(&back_to_orders(30), &message("delayed")).await.unwrap();
    send(&broker, &["1"]);
    seconds(60).await;
    assert_eq!(broker.depth("orders"), Depth { ready: 1, unsettled: 0, delayed: 1 });

    let mut consumer = consumer(&broker, 10).await;
    assert_eq!(id(&next(&mut consumer).await.message), "1");
    assert_eq!(id(&next(&mut consumer).await.message), "delayed");
}

#[tokio::test(start_paused = true)]
async fn a_tier_is_bounded_too() {
    let broker = MemoryBroker::new(1);
    broker.publish(&back_to_orders(30), &message("1")).await.unwrap();
    let error = broker.publish(&back_to_orders(30), &message("2")).await.unwrap_err();
    assert_eq!(
        error,
        PublishError::Outage("queue orders is full: it awaits from its tiers 1 messages, which is its capacity".into())
    );
    seconds(30).await;
    broker.publish(&back_to_orders(30), &message("2")).await.unwrap();
}

#[tokio::test]
async fn a_tier_past_the_end_of_the_clock_is_refused() {
    let broker = broker();
    let endless = Tier { name: "for ever".into(), delay: Duration::MAX };
    let target = Target::Tier { tier: endless, route: "orders".into(), back_to: "orders".into() };
    assert!(matches!(broker.publish(&target, &message("1")).await, Err(PublishError::Refused(_))));
}

#[tokio::test]
async fn preparing_makes_the_queues_and_says_what_memory_cannot_do() {
    let broker = broker();
    let prepared = broker.prepare(&plan(vec!["orders.dlq".into()])).await.unwrap();
    assert_eq!(broker.queues(), ["orders", "orders.dlq"]);
    assert!(prepared.requeue_is_safe);
    assert_eq!(prepared.remarks, ["messages of orders are in memory only and end with the process"]);
}

#[tokio::test]
async fn an_exchange_is_refused_with_the_cure() {
    let broker = broker();
    let topic = Topic::Exchange { exchange: "events".into(), routing_key: "dead".into() };
    let error = broker.prepare(&plan(vec![topic.clone()])).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "route orders: a memory broker has no exchanges, so nothing can be published to events/dead; \
         name a queue instead"
    );
    assert!(matches!(broker.publish(&Target::Topic(topic), &message("1")).await, Err(PublishError::Outage(_))));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn competing_consumers_get_every_message_once() {
    const MESSAGES: usize = 2_000;
    let broker = broker();
    let received = Arc::new(Mutex::new(Vec::new()));
    let mut tasks = Vec::new();
    for _ in 0..4 {
        let (mut consumer, received) = (consumer(&broker, 3).await, Arc::clone(&received));
        tasks.push(tokio::spawn(async move {
            // Ends when the connection is cut.
            while let Ok(delivery) = consumer.next().await {
                received.lock().unwrap().push(delivery.message.id.clone().unwrap());
                delivery.settler.settle(Settlement::Ack).await.unwrap();
            }
        }));
    }
    for n in 0..MESSAGES {
        broker.publish_to("orders", message(&n.to_string())).unwrap();
        if n % 7 == 0 {
            tokio::task::yield_now().await;
        }
    }
    let timeout = Duration::from_secs(60);
    tokio::time::timeout(timeout, broker.wait_for("orders", |depth| depth == Depth::default())).await.unwrap();
    broker.disconnect();
    for task in tasks {
        task.await.unwrap();
    }
    let mut received = received.lock().unwrap().clone();
    received.sort();
    received.dedup();
    assert_eq!(received.len(), MESSAGES);
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_depth_sees_messages_come_back_from_a_tier() {
    let broker = broker();
    broker.publish(&back_to_orders(30), &message("1")).await.unwrap();
    let start = Instant::now();
    let back = broker.wait_for("orders", |depth| depth.ready == 1);
    assert_eq!(tokio::time::timeout(Duration::from_secs(60), back).await.unwrap().delayed, 0);
    assert_eq!(start.elapsed().as_secs(), 30);
}

mod planned_faults {
    use super::*;

    #[tokio::test]
    async fn an_outage_and_a_refusal_last_as_long_as_planned_and_keep_nothing() {
        let broker = broker();
        broker.faults().fail("orders", 1);
        broker.faults().refuse("orders", 2);

        assert!(matches!(broker.publish_to("orders", message("1")), Err(PublishError::Outage(_))));
        assert!(matches!(broker.publish_to("orders", message("1")), Err(PublishError::Refused(_))));
        assert!(matches!(broker.publish_to("orders", message("1")), Err(PublishError::Refused(_))));
        assert_eq!(broker.depth("orders"), Depth::default());
        broker.publish_to("orders", message("1")).unwrap();
    }

    #[tokio::test]
    async fn a_fault_strikes_its_target_only() {
        let broker = broker();
        broker.faults().fail("tier 30s back to orders", 1);
        broker.publish(&back_to_orders(5), &message("1")).await.unwrap();
        broker.publish_to("orders", message("1")).unwrap();
        assert!(broker.publish(&back_to_orders(30), &message("1")).await.is_err());
    }

    #[tokio::test]
    async fn an_unconfirmed_message_is_kept_all_the_same() {
        let broker = broker();
        broker.faults().leave_unconfirmed("orders", 1);
        assert!(matches!(broker.publish_to("orders", message("1")), Err(PublishError::Outage(_))));
        assert_eq!(broker.depth("orders").ready, 1);
    }

    #[tokio::test]
    async fn a_lost_message_is_confirmed_and_gone() {
        let broker = broker();
        broker.faults().lose("orders", 1);
        send(&broker, &["1", "2"]);
        assert_eq!(ids(&broker.drain("orders")), ["2"]);
    }

    #[tokio::test]
    async fn a_size_bound_counts_headers_and_lasts_until_cleared() {
        let broker = broker();
        broker.faults().refuse_larger_than("orders", 10);
        let large = message("1").with_header("trace", "0123456789");
        for _ in 0..2 {
            assert!(matches!(broker.publish_to("orders", large.clone()), Err(PublishError::TooLarge(_))));
        }
        broker.publish_to("orders", message("1")).unwrap();
        broker.faults().clear();
        broker.publish_to("orders", large).unwrap();
    }
}
