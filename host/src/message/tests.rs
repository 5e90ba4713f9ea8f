//! The JSON form of messages, failures and verdicts: what is written reads back as it was.

use std::sync::Arc;

use bytes::Bytes;
use proptest::prelude::*;

use super::{HeaderValue, Headers, Message, Properties};
use crate::failure::{Failure, Health};
use crate::handler_error::HandlerError;
use crate::timestamp::Timestamp;
use crate::verdict::{Action, Verdict};

fn any_value() -> impl Strategy<Value = HeaderValue> {
    let bytes = || proptest::collection::vec(any::<u8>(), 0..12).prop_map(Bytes::from);
    let leaf = prop_oneof![
        Just(HeaderValue::Null),
        any::<bool>().prop_map(HeaderValue::Bool),
        any::<i8>().prop_map(HeaderValue::I8),
        any::<u8>().prop_map(HeaderValue::U8),
        any::<i16>().prop_map(HeaderValue::I16),
        any::<u16>().prop_map(HeaderValue::U16),
        any::<i32>().prop_map(HeaderValue::I32),
        any::<u32>().prop_map(HeaderValue::U32),
        any::<i64>().prop_map(HeaderValue::I64),
        (-1e6_f32..1e6).prop_map(HeaderValue::F32),
        (-1e6_f64..1e6).prop_map(|number| HeaderValue::F64(number.round() / 4.0)),
        (any::<u8>(), any::<u32>()).prop_map(|(scale, value)| HeaderValue::Decimal { scale, value }),
        ".{0,8}".prop_map(HeaderValue::ShortText),
        ".{0,8}".prop_map(HeaderValue::from),
        bytes().prop_map(HeaderValue::Text),
        bytes().prop_map(HeaderValue::Bytes),
        any::<u64>().prop_map(HeaderValue::Timestamp),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(HeaderValue::Array),
            proptest::collection::vec(("[a-z]{0,4}", inner), 0..4)
                .prop_map(|pairs| HeaderValue::Table(pairs.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn headers_of_every_type_read_back_as_they_were(
        pairs in proptest::collection::vec((".{0,6}", any_value()), 0..6)
    ) {
        let headers: Headers = pairs.into_iter().collect();
        let json = serde_json::to_string(&headers).unwrap();
        prop_assert_eq!(serde_json::from_str::<Headers>(&json).unwrap(), headers, "{}", json);
    }

    #[test]
    fn bodies_of_any_bytes_read_back_and_null_is_not_empty(
        body in proptest::option::of(proptest::collection::vec(any::<u8>(), 0..40))
    ) {
        let message = Message { body: body.map(Bytes::from), ..Message::default() };
        let json = serde_json::to_string(&message).unwrap();
        prop_assert_eq!(serde_json::from_str::<Message>(&json).unwrap(), message);
    }
}

#[test]
fn numbers_that_json_cannot_write_are_named() {
    let json = serde_json::to_string(&HeaderValue::F64(f64::INFINITY)).unwrap();
    assert_eq!(json, r#"{"f64":"inf"}"#);
    assert_eq!(serde_json::from_str::<HeaderValue>(&json).unwrap(), HeaderValue::F64(f64::INFINITY));
    assert!(serde_json::to_string(&HeaderValue::F64(f64::NAN)).unwrap().contains("NaN"));
}

#[test]
fn a_failure_is_readable_and_complete() {
    let message = Message {
        id: Some("order-7".to_owned()),
        headers: [("tenant".to_owned(), "acme".into()), ("tries".to_owned(), HeaderValue::I32(3))]
            .into_iter()
            .collect(),
        body: Some(Bytes::from_static(b"{\"total\": 12}")),
        properties: Properties { content_type: Some("application/json".to_owned()), ..Properties::default() },
        timestamp: Some(Timestamp(1_700_000_000_000)),
        ..Message::default()
    };
    let failure = Failure {
        body_size: 13,
        message: Arc::new(message),
        attempt: 2,
        interruptions: 0,
        redelivered: false,
        tier: Some("30s".to_owned()),
        age_ms: 31_000,
        expires_in_ms: None,
        error: HandlerError { status: Some(503), retry_after: Some(2_000), ..HandlerError::new("http-503", "busy") },
        health: Health { attempts: 9, failures: 4, ..Health::default() },
        now: Timestamp(1_700_000_031_000),
        seed: 42,
        attributes: Vec::new(),
    };
    let json = serde_json::to_string_pretty(&failure).unwrap();
    insta::assert_snapshot!(json);
    assert_eq!(serde_json::from_str::<Failure>(&json).unwrap(), failure);
}

#[test]
fn a_pasted_failure_needs_only_what_matters() {
    let text = r#"{"message": {"body": "x"}, "attempt": 3, "error": {"kind": "timeout"}, "now": 1700000000000}"#;
    let failure: Failure = serde_json::from_str(text).unwrap();
    assert_eq!((failure.attempt, failure.error.kind.as_str()), (3, "timeout"));
    let misspelt = serde_json::from_str::<Failure>(&text.replace("attempt", "atempt")).unwrap_err();
    assert!(misspelt.to_string().contains("atempt"), "{misspelt}");
}

#[test]
fn each_verdict_reads_back_as_it_was() {
    let actions = [
        (Action::Retry { delay_ms: 5 }, r#"{"action":"retry","delay_ms":5,"reason":"r"}"#),
        (Action::Delay { delay_ms: 5 }, r#"{"action":"delay","delay_ms":5,"reason":"r"}"#),
        (Action::DelayTo { tier: "30s".to_owned() }, r#"{"action":"delay-to","tier":"30s","reason":"r"}"#),
        (Action::DeadLetter { label: None }, r#"{"action":"dead-letter","reason":"r"}"#),
        (Action::Requeue { cooldown_ms: None }, r#"{"action":"requeue","reason":"r"}"#),
        (Action::Drop, r#"{"action":"drop","reason":"r"}"#),
    ];
    for (action, json) in actions {
        let verdict = Verdict::new(action, "r");
        assert_eq!(serde_json::to_string(&verdict).unwrap(), json);
        assert_eq!(serde_json::from_str::<Verdict>(json).unwrap(), verdict);
    }
}
