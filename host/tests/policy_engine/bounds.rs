//! What goes in and out is bounded, and as the policy asked for it.

use reprieve::message::{HeaderValue, Headers, Message};
use reprieve::policy::engine::Revision;
use reprieve::verdict::Action;
use serde_json::{Value, json};

use crate::log::Log;
use crate::support::{failure, failure_of, misbehaving, obedient};

/// What the policy saw.
fn echo(revision: &Revision, message: Message) -> Value {
    let reason = revision.decide(&failure_of(message, "echo")).unwrap().reason;
    serde_json::from_str::<Value>(&reason).unwrap_or_else(|error| panic!("{error}: {reason}"))
}

#[test]
fn a_policy_is_given_no_body_unless_it_asks_for_one() {
    let seen = echo(obedient(), Message::new("body"));
    assert_eq!(seen["failure"]["body"], Value::Null);
    assert_eq!(seen["failure"]["body_size"], 4);
}

#[test]
fn a_body_is_cut_to_what_policy_and_route_allow() {
    let body = |wanted: u32, message: Message| {
        let seen = echo(&misbehaving(&json!({ "body": wanted })), message);
        seen["failure"]["body"].as_array().map(Vec::len)
    };
    assert_eq!(body(3, Message::new("body")), Some(3));
    assert_eq!(body(1000, Message::new("b".repeat(500))), Some(100));
    assert_eq!(body(3, Message::default()), None);
    assert_eq!(body(3, Message::new("")), Some(0));
}

#[test]
fn a_policy_is_given_the_headers_that_it_names() {
    let message = Message::new("").with_header("tenant", "blue").with_header("colour", "red");
    let seen = echo(&misbehaving(&json!({ "headers": ["tenant", "absent"] })), message);
    assert_eq!(seen["failure"]["headers"], json!([["tenant", { "text": "blue" }]]));
}

#[test]
fn every_type_of_header_reaches_the_policy() {
    let mut message = Message::new("");
    let table: Headers = [("count".to_owned(), HeaderValue::I64(2))].into_iter().collect();
    for (name, value) in [
        ("null", HeaderValue::Null),
        ("bool", HeaderValue::Bool(true)),
        ("small", HeaderValue::I8(-1)),
        ("large", HeaderValue::U32(u32::MAX)),
        ("float", HeaderValue::F32(0.5)),
        ("text", "text".into()),
        ("not-utf8", HeaderValue::Text(vec![0xff].into())),
        ("time", HeaderValue::Timestamp(2)),
        ("table", HeaderValue::Table(table)),
    ] {
        message.headers.push(name, value);
    }
    let seen = echo(obedient(), message);
    assert_eq!(
        seen["failure"]["headers"],
        json!([
            ["null", null],
            ["bool", { "boolean": true }],
            ["small", { "integer": -1 }],
            ["large", { "integer": u32::MAX }],
            ["float", { "float": 0.5 }],
            ["text", { "text": "text" }],
            ["not-utf8", { "bytes": [255] }],
            ["time", { "timestamp": 2000 }],
            ["table", { "json": r#"{"count":2}"# }],
        ])
    );
}

#[test]
fn a_policy_knows_its_route() {
    let seen = echo(obedient(), Message::default());
    assert_eq!(seen["route"]["name"], "orders");
    assert_eq!(seen["route"]["tiers"], json!([{ "name": "30s", "delay": 30_000 }]));
    assert_eq!(seen["route"]["dead_letters"], json!(["default", "invalid"]));
    assert_eq!(seen["route"]["retry"]["max_attempts"], 5);
    assert_eq!(seen["failure"]["seed"], 7);
}

#[test]
fn a_huge_header_and_a_huge_error_are_cut() {
    let mut failure = failure_of(Message::new("").with_header("huge", "h".repeat(100_000)), "count");
    failure.error.text = "t".repeat(1_000_000);
    failure.error.detail = Some("d".repeat(10_000_000));
    // Uncut they would not fit into the policy's memory.
    assert_eq!(obedient().decide(&failure).unwrap().reason, "1");
}

#[test]
fn a_long_reason_is_cut_with_a_mark() {
    let revision = misbehaving(&json!({ "do": "huge-reason", "bytes": 10_000 }));
    let reason = revision.decide(&failure("any")).unwrap().reason;
    assert!(reason.len() <= 4096 && reason.ends_with("r…"), "{} bytes", reason.len());
}

#[test]
fn names_that_the_route_does_not_have_are_not_the_engines_business() {
    let revision = obedient();
    let action = |behaviour| revision.decide(&failure(behaviour)).unwrap().action;
    assert_eq!(action("unknown-tier"), Action::DelayTo { tier: "no-such-tier".into() });
    assert_eq!(action("unknown-label"), Action::DeadLetter { label: Some("no-such-label".into()) });
    assert_eq!(action("endless-retry"), Action::Retry { delay_ms: u64::MAX });
}

#[test]
fn a_flood_of_log_lines_is_held_back_and_counted() {
    let revision = obedient();
    let log = Log::default();
    log.capture(|| {
        revision.decide(&failure("log-flood")).unwrap();
        revision.decide(&failure("log-flood")).unwrap();
    });
    let lines = log.lines();
    assert_eq!(lines.iter().filter(|line| line.contains("of a flood")).count(), 32, "{lines:#?}");
    assert!(lines.iter().any(|line| line.contains("9984 lines of this policy were withheld")), "{lines:#?}");
}

#[test]
fn a_panic_reaches_the_log_with_policy_and_route() {
    let revision = obedient();
    let log = Log::default();
    log.capture(|| revision.decide(&failure("panic")).unwrap_err());
    let lines = log.lines();
    let line = lines.iter().find(|line| line.contains("told to panic in decide")).expect("the panic's line");
    for part in ["ERROR", "reprieve::policy", "policy=\"test\"", "route=\"orders\""] {
        assert!(line.contains(part), "{part} in {line}");
    }
}
