//! Brokers that are down, silent, or come and go.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use reprieve::broker::rabbitmq::{RabbitMq, RabbitMqSettings};
use reprieve::broker::{Broker, BrokerError, Plan, PublishError, Target};
use reprieve::message::Message;
use reprieve::topic::Topic;
use reprieve_tests::rabbitmq::{Proxy, Sandbox};

use crate::{next, plan, queue};

fn at(port: u16) -> RabbitMq {
    RabbitMq::new(&RabbitMqSettings::new("main", format!("amqp://user:s3cret@127.0.0.1:{port}/%2f"))).unwrap()
}

#[tokio::test]
async fn a_broker_that_is_down_is_unreachable_and_the_text_says_where_and_what_to_do() {
    // Bound and not listening any more: nobody else gets the port at once.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let broker = at(port);

    let error = broker.prepare(&plan("orders")).await.unwrap_err();
    assert!(matches!(error, BrokerError::Unreachable { .. }), "{error:?}");
    let text = error.to_string();
    assert!(text.contains(&format!("broker 'main' at 127.0.0.1:{port}")), "{text}");
    assert!(text.contains("start it, or correct `url` of [brokers.main]"), "{text}");
    assert!(!text.contains("s3cret"), "{text}");

    let error = broker.publish(&queue("orders"), &Message::new("body")).await.unwrap_err();
    assert!(matches!(error, PublishError::Outage(_)), "{error:?}");
}

#[tokio::test]
async fn a_wrong_password_is_said_and_not_shown() {
    let url = reprieve_tests::rabbitmq::url().replace("guest:guest@", "guest:s3cret@");
    let broker = RabbitMq::new(&RabbitMqSettings::new("main", url)).unwrap();
    let text = broker.prepare(&plan("orders")).await.unwrap_err().to_string();
    assert!(text.contains("ACCESS_REFUSED") && !text.contains("s3cret"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_peer_that_never_answers_is_given_up_in_time_every_time() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let broker = at(silent.local_addr().unwrap().port());
    for _ in 0..2 {
        let begun = Instant::now();
        let error = broker.prepare(&plan("orders")).await.unwrap_err();
        assert!(matches!(error, BrokerError::Unreachable { .. }), "{error:?}");
        assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    }
}

#[tokio::test]
async fn after_a_lost_connection_the_next_call_makes_another() {
    let sandbox = Sandbox::new().await;
    let source = sandbox.queue("source", &[]).await;
    let proxy = Proxy::start().await;
    let broker = RabbitMq::new(&RabbitMqSettings::new("main", proxy.url())).unwrap();
    for round in 0..3 {
        broker.prepare(&plan(&source)).await.unwrap();
        let mut consumer = broker.consume(&Plan::new("orders", &source), 1).await.unwrap();
        broker.publish(&queue(&source), &Message::new(round.to_string())).await.unwrap();
        let delivery = next(consumer.as_mut()).await;
        delivery.settler.settle(reprieve::broker::Settlement::Ack).await.unwrap();

        proxy.cut();
        crate::within(delivery.lost.cancelled()).await;
        // The publishing connection ends at about the same time; a publish meanwhile fails, and never hangs.
        while broker.publish(&queue(&source), &Message::new("again")).await.is_err() {
            tokio::task::yield_now().await;
        }
        sandbox.take(&source).await;
    }
}

#[tokio::test]
async fn publishes_under_way_when_the_connection_is_cut_fail_rather_than_hang() {
    let sandbox = Sandbox::new().await;
    let target = sandbox.queue("target", &[]).await;
    let proxy = Proxy::start().await;
    let broker = std::sync::Arc::new(RabbitMq::new(&RabbitMqSettings::new("main", proxy.url())).unwrap());
    broker.publish(&queue(&target), &Message::new("first")).await.unwrap();

    let under_way: Vec<_> = (0..200)
        .map(|n| {
            let (broker, target) = (broker.clone(), queue(&target));
            tokio::spawn(async move { broker.publish(&target, &Message::new(n.to_string())).await })
        })
        .collect();
    tokio::task::yield_now().await;
    proxy.cut();
    let mut kept = 1;
    for publish in under_way {
        match crate::within(publish).await.unwrap() {
            Ok(()) => kept += 1,
            Err(PublishError::Outage(_)) => {}
            Err(other) => panic!("{other:?}"),
        }
    }
    // Some that failed may have arrived all the same; none that was confirmed may be missing.
    assert!(sandbox.count(&target).await >= kept);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thousands_of_refused_publishes_do_not_wear_the_connection_out() {
    let sandbox = Sandbox::new().await;
    let target = sandbox.queue("target", &[]).await;
    let broker =
        std::sync::Arc::new(RabbitMq::new(&RabbitMqSettings::new("main", reprieve_tests::rabbitmq::url())).unwrap());
    let missing = Target::Topic(Topic::Exchange { exchange: sandbox.name("missing"), routing_key: String::new() });

    let nothing = Message::default();
    // Each costs a channel, and a connection has 2047 numbers for them.
    for _ in 0..50 {
        let refused = (0..60).map(|_| broker.publish(&missing, &nothing));
        for outcome in futures_util::future::join_all(refused).await {
            assert!(matches!(&outcome, Err(PublishError::Outage(text)) if text.contains("no exchange")), "{outcome:?}");
        }
    }
    broker.publish(&queue(&target), &Message::new("body")).await.unwrap();
    assert_eq!(sandbox.take(&target).await.data, b"body");
}
