use std::sync::Arc;

use super::*;
use crate::handler_error::HandlerError;
use crate::message::{Headers, Message};
use crate::timestamp::Timestamp;

fn failure(message: Message) -> Failure {
    Failure {
        message: Arc::new(message),
        body_size: 0,
        attempt: 3,
        interruptions: 0,
        redelivered: true,
        tier: None,
        age_ms: 5,
        expires_in_ms: Some(0),
        error: HandlerError::new("kind", "text"),
        health: Health::default(),
        now: Timestamp(9),
        seed: u64::MAX,
        attributes: vec![("name".into(), "value".into())],
    }
}

fn all() -> Needs {
    Needs { body: None, headers: None, attributes: vec!["name".to_owned()] }
}

fn values(message: Message) -> Vec<(String, String)> {
    lower(&failure(message), &all(), |failure| {
        failure.headers.iter().map(|header| (header.name.to_owned(), format!("{:?}", header.value))).collect()
    })
}

#[test]
fn the_body_is_lent_and_not_copied() {
    let failure = failure(Message::new("a body"));
    let body = failure.message.body.as_ref().unwrap();
    let needs = Needs::new(wit::Needs { body: Some(u32::MAX), headers: wit::HeaderNeeds::All, attributes: vec![] }, 3);
    lower(&failure, &needs, |lowered| {
        assert_eq!(lowered.body, Some(&b"a b"[..]));
        assert_eq!(lowered.body.unwrap().as_ptr(), body.as_ptr());
        assert_eq!(lowered.body_size, 6);
    });
    lower(&failure, &all(), |lowered| assert_eq!(lowered.body, None));
}

#[test]
fn only_named_headers_are_shown_duplicates_included() {
    let mut message = Message::new("");
    for (name, value) in [("b", 1), ("a", 2), ("b", 3), ("c", 4)] {
        message.headers.push(name, i64::from(value));
    }
    let names = wit::HeaderNeeds::Named(vec!["z".into(), "b".into(), "a".into()]);
    let needs = Needs::new(wit::Needs { body: None, headers: names, attributes: vec![] }, 0);
    lower(&failure(message), &needs, |lowered| {
        let names: Vec<_> = lowered.headers.iter().map(|header| header.name).collect();
        assert_eq!(names, ["b", "a", "b"]);
    });
}

#[test]
fn long_values_are_cut_and_long_json_is_left_out() {
    let long = "ä".repeat(MAX_HEADER_VALUE);
    let mut message = Message::new("").with_header("text", long.as_str());
    message.headers.push("bytes", HeaderValue::Bytes(long.clone().into()));
    message.headers.push("json", HeaderValue::Array(vec![long.into()]));
    lower(&failure(message), &all(), |lowered| {
        assert_eq!(lowered.headers.len(), 2);
        let wit::HeaderValue::Text(text) = lowered.headers[0].value else { panic!("{:?}", lowered.headers[0]) };
        assert!(text.len() <= MAX_HEADER_VALUE && text.ends_with('…'));
        let wit::HeaderValue::Bytes(bytes) = lowered.headers[1].value else { panic!("{:?}", lowered.headers[1]) };
        assert_eq!(bytes.len(), MAX_HEADER_VALUE);
    });
}

#[test]
fn arrays_tables_and_decimals_are_plain_json() {
    let death: Headers = [
        ("reason".to_owned(), HeaderValue::from("rejected")),
        ("count".to_owned(), HeaderValue::I64(2)),
        ("time".to_owned(), HeaderValue::Timestamp(1_700_000_000)),
        ("raw".to_owned(), HeaderValue::Bytes(vec![0xff, 0].into())),
        ("nothing".to_owned(), HeaderValue::F64(f64::NAN)),
    ]
    .into_iter()
    .collect();
    let mut message = Message::new("");
    message.headers.push("x-death", HeaderValue::Array(vec![HeaderValue::Table(death), HeaderValue::U8(7)]));
    message.headers.push("price", HeaderValue::Decimal { scale: 2, value: 314 });
    lower(&failure(message), &all(), |lowered| {
        let json = |index: usize| match lowered.headers[index].value {
            wit::HeaderValue::Json(json) => json.to_owned(),
            ref other => panic!("{other:?}"),
        };
        let expected = r#"[{"count":2,"nothing":null,"raw":"/wA=","reason":"rejected","time":1700000000000},7]"#;
        assert_eq!(json(0), expected);
        assert_eq!(json(1), "3.14");
    });
}

#[test]
fn headers_are_bounded_in_number() {
    let message = (0..1000).fold(Message::new(""), |message, n| message.with_header(format!("h{n}"), "value"));
    assert_eq!(values(message).len(), MAX_HEADERS);
}

#[test]
fn only_named_attributes_are_given_and_long_ones_are_cut() {
    let mut failure = failure(Message::default());
    failure.attributes = vec![("other".into(), "value".into()), ("name".into(), "v".repeat(MAX_HEADER_VALUE + 1))];
    lower(&failure, &all(), |lowered| {
        let [(name, value)] = lowered.attributes else { panic!("{:?}", lowered.attributes) };
        assert_eq!(*name, "name");
        assert!(value.ends_with("v…"), "{value}");
    });
}

#[test]
fn what_no_failure_has_is_known_when_a_policy_asks_for_it() {
    let attributes = vec!["redrives".into(), "colour".into()];
    let needs = Needs::new(wit::Needs { body: None, headers: wit::HeaderNeeds::All, attributes }, 0);
    assert_eq!(needs.unknown_attributes().collect::<Vec<_>>(), ["colour"]);
}

#[test]
fn times_are_in_milliseconds_and_saturate() {
    let mut message = Message::new("");
    message.headers.push("time", HeaderValue::Timestamp(u64::MAX));
    assert_eq!(values(message)[0].1, format!("HeaderValue::Timestamp({})", u64::MAX));
}

#[test]
fn an_errors_text_and_detail_are_cut() {
    let mut failure = failure(Message::default());
    failure.error.text = "t".repeat(MAX_ERROR_TEXT + 1);
    failure.error.detail = Some("d".repeat(MAX_ERROR_DETAIL + 1));
    lower(&failure, &all(), |lowered| {
        assert!(lowered.error.text.ends_with("t…"));
        assert_eq!(lowered.error.text.len(), MAX_ERROR_TEXT);
        assert!(lowered.error.detail.unwrap().ends_with("d…"));
        assert_eq!(lowered.attempt, 3);
        assert_eq!(lowered.attributes, [("name", "value")]);
    });
}
