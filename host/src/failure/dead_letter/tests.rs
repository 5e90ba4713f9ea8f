use serde_json::json;

use super::*;

fn read(value: Value) -> DeadLetter {
    DeadLetter::from_printed(&value).unwrap().expect("it is a dead letter")
}

fn headers() -> Value {
    json!({
        "tenant": "acme",
        "x-death": [{ "count": 2, "queue": "orders" }],
        "reprieve-attempts": 3,
        "reprieve-error": "503 Service Unavailable",
        "reprieve-error-kind": "http-503",
        "reprieve-expires-at": "2026-03-01T10:05:00.000Z",
        "reprieve-failed-at": "2026-03-01T10:00:00.000Z",
        "reprieve-first-failed-at": "2026-03-01T09:00:00.000Z",
        "reprieve-origin-topic": "orders",
        "reprieve-policy": "standard@1f3870be274f",
        "reprieve-reason": "the attempts are used up",
        "reprieve-route": "orders",
    })
}

#[test]
fn its_headers_alone_tell_how_it_failed() {
    let DeadLetter { failure, route, policy, reason } = read(headers());
    assert_eq!((failure.attempt, failure.error.kind.as_str(), failure.error.status), (3, "http-503", Some(503)));
    assert_eq!(failure.error.text, "503 Service Unavailable");
    assert_eq!(failure.now.to_string(), "2026-03-01T10:00:00.000Z");
    assert_eq!((failure.age_ms, failure.expires_in_ms), (60 * 60 * 1000, Some(5 * 60 * 1000)));
    assert_eq!(route.as_deref(), Some("orders"));
    assert_eq!(policy.as_deref(), Some("standard@1f3870be274f"));
    assert_eq!(reason.as_deref(), Some("the attempts are used up"));
    let names: Vec<_> = failure.message.headers.iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["tenant"], "what the sender set, without ours and the broker's");
}

#[test]
fn attributes_come_back_from_the_headers_that_tell_them() {
    let mut headers = headers();
    headers["reprieve-redrives"] = 2.into();
    headers["reprieve-origin-routing-key"] = "orders.eu".into();
    let failure = read(headers).failure;
    let of = |name| failure.attributes.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
    assert_eq!((of(attribute::REDRIVES), of(attribute::ROUTING_KEY)), (Some("2"), Some("orders.eu")));
    assert_eq!((of(attribute::FIRST_FAILED_AT), of(attribute::EXCHANGE)), (Some("1772355600000"), None));
}

#[test]
fn a_message_can_be_pasted_as_the_management_api_prints_it() {
    let message = json!({
        "payload_bytes": 5000, "redelivered": false, "exchange": "", "routing_key": "orders.dlq", "message_count": 0,
        "properties": {
            "message_id": "A1", "timestamp": 1_772_355_600, "delivery_mode": 2, "content_type": "application/json",
            "headers": headers(),
        },
        "payload": "eyJpZCI6MX0=", "payload_encoding": "base64",
    });
    for printed in [message.clone(), json!([message])] {
        let failure = read(printed).failure;
        assert_eq!(failure.message.id.as_deref(), Some("A1"));
        assert_eq!(failure.message.body.as_deref(), Some(&b"{\"id\":1}"[..]));
        assert_eq!(failure.body_size, 5000, "the whole body's, of which a part was printed");
        assert_eq!(failure.message.properties.content_type.as_deref(), Some("application/json"));
        assert_eq!(failure.age_ms, 60 * 60 * 1000, "since the sender's timestamp");
    }
}

#[test]
fn a_message_can_be_pasted_as_a_host_shows_it() {
    let mut message = Message::new("hello").with_id("A1").with_header("n", crate::message::HeaderValue::I32(5));
    for (name, value) in headers().as_object().unwrap().iter().filter(|(name, _)| name.starts_with("reprieve-")) {
        message
            .headers
            .push(name.as_str(), serde_json::from_value::<crate::message::HeaderValue>(value.clone()).unwrap());
    }
    message.headers.push("reprieve-expiration", "60000");
    let failure = read(json!({ "broker": "local", "topic": "orders.dlq", "ready": 1, "messages": [message] })).failure;
    assert_eq!((failure.attempt, failure.message.id.as_deref()), (3, Some("A1")));
    assert_eq!(failure.message.headers.get("n"), Some(&crate::message::HeaderValue::I32(5)), "with its type");
    assert_eq!(failure.message.properties.expiration.as_deref(), Some("60000"), "what the sender had set");
}

#[test]
fn our_headers_are_known_by_any_prefix() {
    let headers =
        json!({ "smsg-attempts": "2", "smsg-error": "late", "smsg-origin-topic": "orders", "tenant": "acme" });
    let failure = read(headers).failure;
    assert_eq!((failure.attempt, failure.error.kind.as_str(), failure.error.text.as_str()), (2, "error", "late"));
    assert_eq!(failure.message.headers.len(), 1);
}

#[test]
fn what_is_no_dead_letter_is_left_to_others() {
    for other in [json!({ "attempts": 2, "error": "timeout" }), json!("text"), json!({}), json!({ "message": {} })] {
        assert_eq!(DeadLetter::from_printed(&other).unwrap(), None, "{other}");
    }
}

#[test]
fn what_looks_like_one_and_cannot_be_used_is_explained() {
    let wrong = |value: Value| DeadLetter::from_printed(&value).unwrap_err().to_string();
    assert!(wrong(json!([])).contains("nothing on that topic"));
    assert!(wrong(json!([headers(), headers()])).starts_with("2 messages: leave one"));
    assert!(wrong(json!({ "payload": "x", "properties": [] })).contains("no dead letter"));
    assert!(wrong(json!({ "payload": 5 })).starts_with("payload: "));
    assert!(wrong(json!({ "body": 5 })).starts_with("body: "));
    let mut late = headers();
    late["reprieve-failed-at"] = "yesterday".into();
    assert_eq!(wrong(late), "reprieve-failed-at: \"yesterday\" is no time");
    let mut none = headers();
    none["reprieve-attempts"] = 0.into();
    assert!(wrong(none).starts_with("reprieve-attempts: attempts are a whole number"));
}
