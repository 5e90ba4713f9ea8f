//! A message comes out as it went in, as far as the broker says that it keeps what is in it.

use std::collections::BTreeMap;

use bytes::Bytes;
use reprieve::broker::Kept;
use reprieve::message::{HeaderValue, Headers, Message, Properties};
use reprieve::timestamp::Timestamp;

use crate::cases::on_every_broker;
use crate::stage::{Stage, next, take};

on_every_broker! {
    a_message_comes_out_as_it_went_in,
    a_body_may_be_null_empty_or_any_bytes,
    headers_keep_their_order_and_come_as_often_as_they_were_written,
    a_message_without_anything_is_one_too,
}

/// With everything that a message can have, but for what is a matter of its target.
pub(crate) fn full_message() -> Message {
    let inner: Headers = [("text".to_owned(), "within".into())].into_iter().collect();
    let values = [
        HeaderValue::Null,
        HeaderValue::Bool(true),
        HeaderValue::I16(i16::MIN),
        HeaderValue::I64(i64::MIN),
        HeaderValue::U32(u32::MAX),
        HeaderValue::F64(-0.1),
        HeaderValue::Decimal { scale: 2, value: 12_345 },
        HeaderValue::Text("text".into()),
        HeaderValue::Bytes(Bytes::from_static(&[0, 1, 0xff])),
        HeaderValue::Timestamp(1_700_000_000),
        HeaderValue::Array(vec!["a".into(), HeaderValue::Null, HeaderValue::Table(inner)]),
    ];
    let text = |text: &str| Some(text.to_owned());
    Message {
        id: text("id-1"),
        key: Some(Bytes::from_static(&[0xfe, 0])),
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
            expiration: None,
        },
        // AMQP has whole seconds.
        timestamp: Some(Timestamp(1_700_000_000_000)),
    }
}

/// What is left of a message behind a broker that keeps this.
pub(crate) fn kept(message: Message, kept: &Kept) -> Message {
    let content_type = message.properties.content_type.clone();
    let headers = if kept.header_types { message.headers } else { as_bytes(&message.headers) };
    Message {
        key: message.key.filter(|_| kept.keys),
        body: if kept.null_bodies { message.body } else { Some(message.body.unwrap_or_default()) },
        headers: if kept.header_order { headers } else { sorted(&headers) },
        properties: if kept.properties {
            message.properties
        } else {
            Properties { content_type, ..Properties::default() }
        },
        timestamp: message.timestamp.filter(|_| kept.timestamps),
        ..message
    }
}

/// A message as it came, without what a broker that keeps this says of its own accord, or says twice.
pub(crate) fn came(message: &Message, kept: &Kept) -> Message {
    let mut message = message.clone();
    if !kept.properties {
        message.headers.retain(|name| name != "reprieve-id" && name != "content-type");
    }
    // A broker's own marks, which the copies that the host makes do not keep.
    message.headers.retain(|name| !name.starts_with("x-"));
    message.timestamp = message.timestamp.filter(|_| kept.timestamps);
    message
}

/// The last of each name, by name.
fn sorted(headers: &Headers) -> Headers {
    let headers: BTreeMap<&str, &HeaderValue> = headers.iter().collect();
    headers.into_iter().map(|(name, value)| (name.to_owned(), value.clone())).collect()
}

/// As bytes, where a header is nothing else: texts and numbers as people read them, null as it is, and the rest as JSON.
pub(crate) fn as_bytes(headers: &Headers) -> Headers {
    let bytes = |value: &HeaderValue| match value {
        HeaderValue::Null => HeaderValue::Null,
        HeaderValue::Bool(value) => HeaderValue::Bytes(value.to_string().into()),
        HeaderValue::F64(value) => HeaderValue::Bytes(value.to_string().into()),
        HeaderValue::Text(bytes) | HeaderValue::Bytes(bytes) => HeaderValue::Bytes(bytes.clone()),
        value => HeaderValue::Bytes(match value.as_i64() {
            Some(number) => number.to_string().into(),
            None => serde_json::to_vec(value).expect("plain data").into(),
        }),
    };
    headers.iter().map(|(name, value)| (name.to_owned(), bytes(value))).collect()
}

async fn assert_kept(stage: &Stage, message: Message) {
    let driver = stage.driver();
    let mut consumer = stage.consume(&driver, 1).await;
    stage.send(&message).await;
    let delivery = next(&mut *consumer).await;
    assert!(!delivery.redelivered);
    let keeps = stage.capabilities().keeps;
    let expected = kept(message, &keeps);
    let mut came = came(&delivery.message, &keeps);
    // Where a sender says no id, a broker may say one that tells it from others.
    came.id = came.id.filter(|_| expected.id.is_some());
    assert_eq!(came, expected);
}

async fn a_message_comes_out_as_it_went_in(stage: Stage) {
    assert_kept(&stage, full_message()).await;
}

async fn a_message_without_anything_is_one_too(stage: Stage) {
    assert_kept(&stage, Message { body: Some(Bytes::new()), ..Message::default() }).await;
}

async fn a_body_may_be_null_empty_or_any_bytes(stage: Stage) {
    let driver = stage.driver();
    let mut consumer = stage.consume(&driver, 1).await;
    for body in [None, Some(Bytes::new()), Some((0..=255).collect::<Bytes>())] {
        let message = Message { body, ..Message::default() }.with_id("m");
        stage.send(&message).await;
        assert_eq!(take(&mut *consumer).await.body, kept(message, &stage.capabilities().keeps).body);
    }
}

async fn headers_keep_their_order_and_come_as_often_as_they_were_written(stage: Stage) {
    let mut message = Message::new("body").with_id("m");
    for (name, value) in [("b", "1"), ("a", "2"), ("b", "3"), ("c", "")] {
        message.headers.push(name, value);
    }
    assert_kept(&stage, message).await;
}
