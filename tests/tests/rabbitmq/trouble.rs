//! A broker in trouble: addresses that are down, alarms, deliveries taken back. On a node that nobody else uses.

use std::net::TcpListener;
use std::sync::OnceLock;
use std::time::Duration;

use lapin::options::QueueDeclareOptions;
use lapin::types::FieldTable;
use lapin::{BasicProperties, Connection, ConnectionProperties};
use reprieve::broker::rabbitmq::{RabbitMq, RabbitMqSettings};
use reprieve::broker::{Broker, BrokerError, Plan, PublishError, Settlement};
use reprieve::message::Message;
use reprieve_tests::rabbitmq::{Node, Sandbox};
use tokio::sync::{Mutex, MutexGuard};

use crate::{next, plan, queue, within};

/// The node that is put into trouble, by one test at a time.
async fn troubled() -> (MutexGuard<'static, ()>, &'static Node) {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::const_new(());
    static NODE: OnceLock<Node> = OnceLock::new();
    let turn = ONE_AT_A_TIME.lock().await;
    (turn, NODE.get_or_init(Node::start))
}

/// New queues with one message each.
async fn queues<const N: usize>(node: &Node, names: [&str; N]) {
    let connection = Connection::connect(&node.url(), ConnectionProperties::default()).await.unwrap();
    let channel = connection.create_channel().await.unwrap();
    for name in names {
        let options = QueueDeclareOptions { durable: true, ..Default::default() };
        channel.queue_declare(name.into(), options, FieldTable::default()).await.unwrap();
        channel
            .basic_publish("".into(), name.into(), Default::default(), name.as_bytes(), BasicProperties::default())
            .await
            .unwrap();
    }
    connection.close(200, "OK".into()).await.unwrap();
}

fn with_urls(urls: Vec<String>) -> RabbitMq {
    RabbitMq::new(&RabbitMqSettings { urls, ..RabbitMqSettings::new("main", "") }).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_several_addresses_one_that_answers_is_found_and_all_that_do_not_are_named() {
    let sandbox = Sandbox::new().await;
    let source = sandbox.queue("source", &[]).await;
    let refusing = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent_port = silent.local_addr().unwrap().port();
    let at = |port| format!("amqp://user:s3cret@127.0.0.1:{port}/%2f");

    let broker = with_urls(vec![at(refusing), at(silent_port), reprieve_tests::rabbitmq::url()]);
    broker.prepare(&plan(&source)).await.unwrap();

    let broker = with_urls(vec![at(refusing), at(silent_port)]);
    let text = broker.prepare(&plan(&source)).await.unwrap_err().to_string();
    for port in [refusing, silent_port] {
        assert!(text.contains(&format!("127.0.0.1:{port}")), "{text}");
    }
    assert!(text.contains("no answer within") && text.contains("`urls` of [brokers.main]"), "{text}");
    assert!(!text.contains("s3cret"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_ipv6_literal_is_connected_to() {
    let listener = TcpListener::bind("[::1]:0").expect("a machine with IPv6 on its loopback");
    let port = listener.local_addr().unwrap().port();
    let accepted = std::thread::spawn(move || listener.accept().map(|(_, peer)| peer.is_ipv6()));
    let broker = with_urls(vec![format!("amqp://guest:guest@[::1]:{port}/%2f")]);
    let error = broker.prepare(&plan("orders")).await.unwrap_err();
    assert!(accepted.join().unwrap().unwrap());
    assert!(error.to_string().contains(&format!("broker 'main' at [::1]:{port}")), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_memory_alarm_publishes_count_as_an_outage_and_deliveries_are_still_settled() {
    let (_turn, node) = troubled().await;
    queues(node, ["alarm.source", "alarm.dead"]).await;
    let settings =
        RabbitMqSettings { confirm_timeout: Duration::from_secs(1), ..RabbitMqSettings::new("main", node.url()) };
    let broker = RabbitMq::new(&settings).unwrap();
    broker.publish(&queue("alarm.dead"), &Message::new("before")).await.unwrap();
    let mut consumer = broker.consume(&Plan::new("orders", "alarm.source"), 1).await.unwrap();
    let delivery = next(consumer.as_mut()).await;

    node.control(&["set_vm_memory_high_watermark", "0.000001"]);
    // The broker says so to those who publish, once they do.
    let told = async {
        loop {
            match broker.publish(&queue("alarm.dead"), &Message::new("during")).await {
                Err(PublishError::Outage(text)) if text.contains("alarm)") => break,
                Err(PublishError::Outage(_)) | Ok(()) => tokio::task::yield_now().await,
                Err(other) => panic!("{other:?}"),
            }
        }
    };
    within(told).await;
    delivery.settler.settle(Settlement::Ack).await.unwrap();
    consumer.stop().await;
    drop((delivery, consumer));
    let mut again = broker.consume(&Plan::new("orders", "alarm.source"), 1).await.unwrap();
    let none = tokio::time::timeout(Duration::from_secs(1), again.next()).await;
    assert!(none.is_err(), "it was settled");

    node.control(&["set_vm_memory_high_watermark", "0.6"]);
    let through = async {
        while broker.publish(&queue("alarm.dead"), &Message::new("after")).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    within(through).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delivery_that_the_broker_takes_back_ends_its_own_route_and_no_other() {
    let (_turn, node) = troubled().await;
    queues(node, ["slow", "quick"]).await;
    // Read by each channel when it is opened.
    let set_timeout = |timeout: u32, tick: u32| {
        let environment =
            format!("consumer_timeout, {timeout}), application:set_env(rabbit, channel_tick_interval, {tick}");
        node.control(&["eval", &format!("application:set_env(rabbit, {environment}).")]);
    };
    set_timeout(1_000, 300);
    let broker = RabbitMq::new(&RabbitMqSettings::new("main", node.url())).unwrap();
    let mut slow = broker.consume(&Plan::new("orders", "slow"), 1).await.unwrap();
    let mut quick = broker.consume(&Plan::new("orders", "quick"), 1).await.unwrap();
    let quick_lost = quick.lost();
    next(quick.as_mut()).await.settler.settle(Settlement::Ack).await.unwrap();

    let held = next(slow.as_mut()).await;
    within(held.lost.cancelled()).await;
    // Known without anybody asking for the next one, and then with the broker's reason.
    assert!(slow.lost().is_cancelled());
    match within(slow.next()).await {
        Err(BrokerError::Lost { reason, .. }) => assert!(reason.contains("timeout"), "{reason}"),
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("a delivery of a channel that has ended"),
    }

    set_timeout(1_800_000, 60_000);
    assert!(!quick_lost.is_cancelled());
    broker.publish(&queue("quick"), &Message::new("more")).await.unwrap();
    let delivery = next(quick.as_mut()).await;
    assert_eq!(delivery.message.body.as_deref(), Some(&b"more"[..]));
    delivery.settler.settle(Settlement::Ack).await.unwrap();
    // And the message that was taken back is there for whoever consumes anew.
    let mut anew = broker.consume(&Plan::new("orders", "slow"), 1).await.unwrap();
    assert!(next(anew.as_mut()).await.redelivered);
}
