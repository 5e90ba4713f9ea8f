//! A publish counts only when it is confirmed, routed and kept; and what is published is the same message.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::join_all;
use lapin::BasicProperties;
use reprieve::broker::{Broker, Plan, PublishError, Target};
use reprieve::message::{HeaderValue, Headers, Message, Properties};
use reprieve::timestamp::Timestamp;
use reprieve::topic::Topic;
use reprieve_tests::rabbitmq::Sandbox;

use crate::{driver, next, queue};

/// A message with everything that AMQP can carry.
pub(crate) fn full_message() -> Message {
    let inner: Headers = [
        ("list".to_owned(), HeaderValue::Array(vec![HeaderValue::Null, HeaderValue::U8(255)])),
        ("text".to_owned(), "within".into()),
    ]
    .into_iter()
    .collect();
    let values = [
        HeaderValue::Null,
        HeaderValue::Bool(true),
        HeaderValue::I8(i8::MIN),
        HeaderValue::U8(u8::MAX),
        HeaderValue::I16(i16::MIN),
        HeaderValue::U16(u16::MAX),
        HeaderValue::I32(i32::MIN),
        HeaderValue::U32(u32::MAX),
        HeaderValue::I64(i64::MIN),
        HeaderValue::F32(1.5),
        HeaderValue::F64(-0.1),
        HeaderValue::Decimal { scale: 2, value: 12_345 },
        HeaderValue::Text("text".into()),
        HeaderValue::Text(Bytes::from_static(&[0xff, 0x00, 0xfe])),
        HeaderValue::Bytes(Bytes::from_static(&[0, 1, 2])),
        HeaderValue::Timestamp(1_700_000_000),
        HeaderValue::Array(vec!["a".into(), HeaderValue::Array(vec![]), HeaderValue::Table(inner.clone())]),
        HeaderValue::Table(inner),
    ];
    let text = |text: &str| Some(text.to_owned());
    Message {
        id: text("id-1"),
        key: None,
        headers: values.into_iter().enumerate().map(|(at, value)| (format!("h{at:02}"), value)).collect(),
        body: Some(Bytes::from_static(&[0, 1, 0xff])),
        properties: Properties {
            content_type: text("application/octet-stream"),
            content_encoding: text("identity"),
            correlation_id: text("c-1"),
            reply_to: text("replies"),
            message_type: text("order.created"),
            app_id: text("shop"),
            user_id: None,
            cluster_id: text("east"),
            priority: Some(3),
            expiration: text("600000"),
        },
        timestamp: Some(Timestamp(1_700_000_000_000)),
    }
}

#[tokio::test]
async fn every_header_type_and_property_survives_the_broker() {
    let sandbox = Sandbox::new().await;
    let source = sandbox.queue("source", &[]).await;
    let broker = driver();

    broker.publish(&queue(&source), &full_message()).await.unwrap();
    let mut consumer = broker.consume(&Plan::new("orders", &source), 1).await.unwrap();
    let delivery = next(consumer.as_mut()).await;

    assert_eq!(*delivery.message, full_message());
    assert!(!delivery.redelivered);
    assert_eq!(delivery.origin.exchange.as_deref(), Some(""));
    assert_eq!(delivery.origin.routing_key.as_deref(), Some(source.as_str()));
}

#[tokio::test]
async fn what_is_published_is_persistent_and_carries_no_user_id() {
    let sandbox = Sandbox::new().await;
    let target = sandbox.queue("target", &[]).await;
    let mut message = Message::new("body");
    // A broker that believed it would refuse it: this is not our login.
    message.properties.user_id = Some("somebody-else".to_owned());

    driver().publish(&queue(&target), &message).await.unwrap();

    let taken = sandbox.take(&target).await;
    assert_eq!(taken.properties, BasicProperties::default().with_delivery_mode(2));
    assert_eq!(taken.data, b"body");
}

#[tokio::test]
async fn a_null_body_is_published_as_an_empty_one() {
    let sandbox = Sandbox::new().await;
    let target = sandbox.queue("target", &[]).await;
    driver().publish(&queue(&target), &Message { body: None, ..Message::default() }).await.unwrap();
    assert_eq!(sandbox.take(&target).await.data, b"");
}

#[tokio::test]
async fn a_message_that_no_queue_takes_is_an_outage_that_names_the_target() {
    let error = driver().publish(&queue("test.no-such-queue"), &Message::new("body")).await.unwrap_err();
    let PublishError::Outage(text) = &error else { panic!("{error:?}") };
    assert!(text.contains("test.no-such-queue") && text.contains("NO_ROUTE"), "{text}");
}

#[tokio::test]
async fn a_missing_exchange_is_an_outage_and_the_next_publish_goes_through() {
    let sandbox = Sandbox::new().await;
    let target = sandbox.queue("target", &[]).await;
    let broker = driver();
    let missing =
        Target::Topic(Topic::Exchange { exchange: "test.no-such-exchange".to_owned(), routing_key: "k".to_owned() });

    let error = broker.publish(&missing, &Message::new("body")).await.unwrap_err();
    assert!(
        matches!(&error, PublishError::Outage(text) if text.contains("no exchange 'test.no-such-exchange'")),
        "{error}"
    );
    broker.publish(&queue(&target), &Message::new("body")).await.unwrap();
}

#[tokio::test]
async fn a_full_queue_that_rejects_is_an_outage() {
    let sandbox = Sandbox::new().await;
    let full =
        [("x-max-length", 1.into()), ("x-overflow", lapin::types::AMQPValue::LongString("reject-publish".into()))];
    let target = sandbox.queue("full", &full).await;
    let broker = driver();

    broker.publish(&queue(&target), &Message::new("fits")).await.unwrap();
    let error = broker.publish(&queue(&target), &Message::new("does not")).await.unwrap_err();

    assert!(matches!(&error, PublishError::Outage(text) if text.contains(&target)), "{error}");
    assert_eq!(sandbox.take(&target).await.data, b"fits");
}

#[tokio::test]
async fn headers_of_the_size_that_preparing_allows_go_through_with_full_properties() {
    let sandbox = Sandbox::new().await;
    let target = sandbox.queue("target", &[]).await;
    let broker = driver();
    let most = broker.prepare(&crate::plan(&target)).await.unwrap().max_header_bytes.unwrap();
    let long = || Some("p".repeat(255));
    let mut message = Message { id: long(), ..full_message() };
    message.properties = Properties {
        content_type: long(),
        content_encoding: long(),
        correlation_id: long(),
        reply_to: long(),
        message_type: long(),
        app_id: long(),
        cluster_id: long(),
        expiration: None,
        ..message.properties
    };
    // A table's length, a name with its length, a letter and a text's length.
    message.headers = [("h".to_owned(), "x".repeat(most - 4 - 2 - 5).into())].into_iter().collect();

    broker.publish(&queue(&target), &message).await.unwrap();
    assert_eq!(sandbox.take(&target).await.properties.message_id().as_ref().map(|id| id.as_str().len()), Some(255));
}

#[tokio::test]
async fn a_body_over_the_brokers_limit_is_too_large() {
    let sandbox = Sandbox::new().await;
    let target = sandbox.queue("target", &[]).await;
    let broker = driver();
    // One byte over what RabbitMQ takes by default; newer versions have a lower limit.
    let body = vec![0; 128 * 1024 * 1024 + 1];

    let error = broker.publish(&queue(&target), &Message::new(body)).await.unwrap_err();
    assert!(matches!(error, PublishError::TooLarge(_)), "{error:?}");
    broker.publish(&queue(&target), &Message::new("small")).await.unwrap();
}

#[tokio::test]
async fn an_expiration_that_the_broker_does_not_understand_is_refused() {
    let sandbox = Sandbox::new().await;
    let target = sandbox.queue("target", &[]).await;
    let mut message = Message::new("body");
    message.properties.expiration = Some("soon".to_owned());
    let error = driver().publish(&queue(&target), &message).await.unwrap_err();
    assert!(matches!(error, PublishError::Refused(_)), "{error:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn returned_messages_are_never_taken_for_their_neighbours() {
    let sandbox = Sandbox::new().await;
    // Confirms of a quorum queue come late and together, those of unroutable messages at once.
    let kept = sandbox.queue("kept", &[("x-queue-type", quorum())]).await;
    let missing = sandbox.name("missing");
    let broker = Arc::new(driver());

    let outcomes = join_all((0..400).map(|n| {
        let target = if n % 2 == 0 { kept.clone() } else { missing.clone() };
        let broker = broker.clone();
        tokio::spawn(async move { broker.publish(&queue(&target), &Message::new(n.to_string())).await })
    }))
    .await;

    for (n, outcome) in outcomes.into_iter().enumerate() {
        assert_eq!(outcome.unwrap().is_ok(), n % 2 == 0, "message {n}");
    }
    sandbox.wait_for_count(&kept, 200).await;
}

fn quorum() -> lapin::types::AMQPValue {
    lapin::types::AMQPValue::LongString("quorum".into())
}
