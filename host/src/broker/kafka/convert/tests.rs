use std::sync::Arc;

use bytes::Bytes;
use rdkafka::message::{Header, Headers as _, OwnedHeaders, OwnedMessage};

use super::*;
use crate::broker::Position;
use crate::message::{HeaderValue, Message};

fn position() -> Position {
    Position { topic: Arc::from("orders"), partition: 3, offset: 1042, group: Arc::from("reprieve.orders") }
}

fn record(key: Option<&[u8]>, value: Option<&[u8]>, headers: Option<OwnedHeaders>) -> OwnedMessage {
    let timestamp = rdkafka::Timestamp::CreateTime(1_700_000_000_123);
    OwnedMessage::new(value.map(<[u8]>::to_vec), key.map(<[u8]>::to_vec), "orders".into(), timestamp, 3, 1042, headers)
}

/// What a record that was made of a message has as headers.
fn written(message: &Message, back_to: Option<(&str, &str)>) -> Vec<(String, Option<Vec<u8>>)> {
    let Some(headers) = to_headers(message, back_to).unwrap() else { return Vec::new() };
    headers.iter().map(|header| (header.key.to_owned(), header.value.map(<[u8]>::to_vec))).collect()
}

fn pair(name: &str, value: &[u8]) -> (String, Option<Vec<u8>>) {
    (name.to_owned(), Some(value.to_vec()))
}

#[test]
fn key_value_and_headers_come_back_with_nulls_order_and_duplicates() {
    let sent = OwnedHeaders::new()
        .insert(Header { key: "b", value: Some(&[0xff_u8, 0][..]) })
        .insert(Header::<&[u8]> { key: "a", value: None })
        .insert(Header { key: "b", value: Some(&b""[..]) });
    let read = message(&record(None, None, Some(sent)), &position());
    assert_eq!((&read.key, &read.body), (&None, &None));
    assert_eq!(read.timestamp.map(|at| at.0), Some(1_700_000_000_123));
    let names: Vec<_> = read.headers.iter().map(|(name, value)| (name, value.clone())).collect();
    let bytes = |bytes: &'static [u8]| HeaderValue::Bytes(Bytes::from_static(bytes));
    assert_eq!(names, [("b", bytes(&[0xff, 0])), ("a", HeaderValue::Null), ("b", bytes(b""))]);
    assert_eq!(
        written(&read, None),
        [pair("b", &[0xff, 0]), ("a".to_owned(), None), pair("b", b""), pair("reprieve-id", b"orders/3/1042")]
    );
}

#[test]
fn an_empty_key_and_value_are_no_nulls() {
    let read = message(&record(Some(b""), Some(b""), None), &position());
    assert_eq!((read.key.as_deref(), read.body.as_deref()), (Some(&b""[..]), Some(&b""[..])));
}

#[test]
fn a_senders_id_is_kept_and_stands_once() {
    let sent = OwnedHeaders::new().insert(Header { key: "reprieve-id", value: Some("A7") });
    let mut read = message(&record(None, None, Some(sent)), &position());
    assert_eq!(read.id.as_deref(), Some("A7"));
    assert_eq!(written(&read, None), [pair("reprieve-id", b"A7")]);
    read.id = Some("B8".to_owned());
    assert_eq!(written(&read, None), [pair("reprieve-id", b"B8")]);
}

#[test]
fn what_has_no_type_on_a_record_is_written_as_it_is_read() {
    let message = Message::new("")
        .with_header("attempts", 3u32)
        .with_header("negative", HeaderValue::I8(-1))
        .with_header("flag", HeaderValue::Bool(true))
        .with_header("list", HeaderValue::Array(vec!["a".into()]));
    let headers = written(&message, None);
    assert_eq!(headers[..3], [pair("attempts", b"3"), pair("negative", b"-1"), pair("flag", b"true")]);
    assert_eq!(headers[3], pair("list", &serde_json::to_vec(&HeaderValue::Array(vec!["a".into()])).unwrap()));
}

#[test]
fn a_content_type_is_a_header_and_stands_once() {
    let mut message = Message::new("{}");
    message.properties.content_type = Some("application/json".to_owned());
    assert_eq!(written(&message, None), [pair("content-type", b"application/json")]);
    message.headers.push("content-type", "application/json");
    assert_eq!(written(&message, None), [pair("content-type", b"application/json")]);
}

#[test]
fn where_a_tier_leads_back_to_is_said_once() {
    let message = Message::new("").with_header("reprieve-back-to", "elsewhere");
    assert_eq!(written(&message, Some(("reprieve-back-to", "orders"))), [pair("reprieve-back-to", b"orders")]);
}

#[test]
fn a_name_with_a_nul_is_refused_and_does_not_panic() {
    let refused = to_headers(&Message::new("").with_header("a\0b", "c"), None).unwrap_err();
    assert!(refused.to_string().contains(r#""a\0b""#), "{refused}");
}

#[test]
fn a_message_without_headers_has_none() {
    assert!(to_headers(&Message::new("x"), None).unwrap().is_none());
}

/// As a client in another language may send it, whose names are bytes.
struct Unreadable;

impl rdkafka::message::Headers for Unreadable {
    fn count(&self) -> usize {
        2
    }

    fn try_get(&self, index: usize) -> Option<Header<'_, &[u8]>> {
        // As the library does with the name.
        let name: &[u8] = if index == 0 { &[0xff] } else { b"good" };
        Some(Header { key: std::str::from_utf8(name).unwrap(), value: Some(b"1") })
    }
}

#[test]
fn a_header_whose_name_is_no_text_is_lost_alone_and_counted() {
    let read = record::read(&Unreadable, &position());
    let headers: Vec<_> = read.iter().map(|(name, value)| (name, value.as_str())).collect();
    assert_eq!(headers[0], ("good", Some("1")));
    assert_eq!(read.get("reprieve-unreadable-headers").and_then(HeaderValue::as_i64), Some(1));
}
