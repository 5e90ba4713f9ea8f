//! A failure as people write it: the JSON form, of which only what matters has to be there.
//!
//! Beside that form, for hands: `age` and `expires_in`, and the error's `retry_after`, as durations (`"25h"`); `now` and the
//! message's `timestamp` as RFC 3339; the error as its kind alone; headers as an object; a body that is JSON as it is.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::Failure;
use crate::handler_error::HandlerError;
use crate::timestamp::{Timestamp, millis};

/// 2026-01-01T12:00:00Z, a Thursday: what the clock shows where nobody says otherwise, so that a verdict does not depend on
/// the day.
pub(super) const NOON: u64 = 1_767_268_800_000;

/// What is written is no failure.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{message}", if path.is_empty() { String::new() } else { format!("{path}: ") })]
pub struct WrittenError {
    /// Where, such as `error.status`; empty for the failure as a whole.
    pub path: String,
    /// What is wrong.
    pub message: String,
}

impl WrittenError {
    pub(super) fn new(path: &str, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), message: message.into() }
    }
}

impl Failure {
    /// Reads a failure of which only what matters is written. What is left out is a plain failure's: the first attempt of a
    /// small JSON message, failed with kind `error`, at noon of 2026-01-01 (UTC). A message or an error that is written is all
    /// that there is of it.
    ///
    /// # Errors
    /// Where the failure is wrong, and how.
    pub fn from_written(written: &Value) -> Result<Self, WrittenError> {
        let Value::Object(written) = written else {
            return Err(WrittenError::new(
                "",
                "a failure is an object, such as {\"attempt\": 2, \"error\": \"timeout\"}",
            ));
        };
        let mut written = written.clone();
        ease(&mut written)?;
        let says_size = written.contains_key("body_size");
        let says_age = written.contains_key("age_ms");
        for (name, value) in plain() {
            written.entry(name).or_insert(value);
        }
        let mut failure: Self = serde_path_to_error::deserialize(Value::Object(written)).map_err(|error| {
            let path = error.path().to_string();
            WrittenError::new(if path == "." { "" } else { &path }, error.inner().to_string())
        })?;
        if !says_size {
            failure.body_size = failure.message.body_size() as u64;
        }
        if let Some(made) = failure.message.timestamp.filter(|_| !says_age) {
            failure.age_ms = millis(failure.now.since(made));
        }
        if failure.attempt == 0 {
            return Err(WrittenError::new("attempt", "attempts are counted from 1"));
        }
        Ok(failure)
    }
}

fn plain() -> [(&'static str, Value); 4] {
    [
        ("message", json!({ "id": "1", "body": "{}", "properties": { "content_type": "application/json" } })),
        ("attempt", json!(1)),
        ("error", json!({ "kind": "error" })),
        ("now", json!(NOON)),
    ]
}

/// From what is written for hands to the JSON form.
fn ease(failure: &mut Map<String, Value>) -> Result<(), WrittenError> {
    duration(failure, "", "age")?;
    duration(failure, "", "expires_in")?;
    time(failure, "", "now")?;
    match failure.get_mut("error") {
        Some(Value::Object(error)) => duration(error, "error.", "retry_after")?,
        Some(error @ Value::String(_)) => {
            let kind = error.as_str().unwrap_or_default();
            *error = serde_json::to_value(HandlerError::from_kind(kind, "")).expect("an error has text for keys");
        }
        _ => {}
    }
    let Some(Value::Object(message)) = failure.get_mut("message") else { return Ok(()) };
    time(message, "message.", "timestamp")?;
    if let Some(headers @ Value::Object(_)) = message.get_mut("headers")
        && let Value::Object(entries) = headers.take()
    {
        *headers = entries.into_iter().map(|(name, value)| json!([name, value])).collect();
    }
    if let Some(body) = message.get_mut("body")
        && !is_body(body)
    {
        *body = Value::String(body.to_string());
    }
    Ok(())
}

/// Whether a body is in its JSON form, and not JSON itself.
fn is_body(body: &Value) -> bool {
    match body {
        Value::String(_) | Value::Null => true,
        Value::Object(entries) => entries.len() == 1 && entries.get("base64").is_some_and(Value::is_string),
        _ => false,
    }
}

/// `"age": "25h"` for `"age_ms": 90000000`.
fn duration(object: &mut Map<String, Value>, path: &str, name: &str) -> Result<(), WrittenError> {
    let Some(written) = object.remove(name) else { return Ok(()) };
    let in_ms = format!("{name}_ms");
    if object.contains_key(&in_ms) {
        return Err(WrittenError::new(
            &format!("{path}{name}"),
            format!("it is written as `{in_ms}` too; leave one out"),
        ));
    }
    let wrong =
        || WrittenError::new(&format!("{path}{name}"), format!("{written} is no duration; write one such as \"90s\""));
    let duration: Duration =
        written.as_str().and_then(|text| humantime::parse_duration(text).ok()).ok_or_else(wrong)?;
    object.insert(in_ms, millis(duration).into());
    Ok(())
}

/// A time as text for milliseconds since the Unix epoch.
fn time(object: &mut Map<String, Value>, path: &str, name: &str) -> Result<(), WrittenError> {
    let Some(Value::String(text)) = object.get(name) else { return Ok(()) };
    let wrong = || {
        WrittenError::new(
            &format!("{path}{name}"),
            format!("{text:?} is no time; write one such as \"2026-01-01T12:00:00Z\""),
        )
    };
    let time: Timestamp = humantime::parse_rfc3339_weak(text).map_err(|_| wrong())?.into();
    object.insert(name.to_owned(), time.0.into());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(written: Value) -> Result<Failure, String> {
        Failure::from_written(&written).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_left_out_is_a_plain_failures() {
        let failure = read(json!({ "attempt": 3 })).unwrap();
        assert_eq!((failure.attempt, failure.error.kind.as_str(), failure.body_size), (3, "error", 2));
        assert_eq!(failure.now.to_string(), "2026-01-01T12:00:00.000Z");
    }

    #[test]
    fn a_failure_that_was_written_by_a_host_is_read_as_it_is() {
        let mut failure = read(json!({ "attempt": 7, "error": { "kind": "http-503", "status": 503 } })).unwrap();
        failure.message = std::sync::Arc::new(crate::message::Message::default().with_header("n", 5_i64));
        failure.body_size = 99;
        let written = serde_json::to_value(&failure).unwrap();
        let read = Failure::from_written(&written).unwrap();
        assert_eq!(
            (read.attempt, read.body_size, read.message.headers.clone()),
            (7, 99, failure.message.headers.clone())
        );
        assert_eq!(read.message.body, None, "a null body stays one");
    }

    #[test]
    fn durations_times_headers_and_bodies_may_be_written_for_hands() {
        let failure = read(json!({
            "age": "25h", "expires_in": "1m", "now": "2026-03-29 02:30:00",
            "error": { "kind": "rate-limited", "retry_after": "90s" },
            "message": { "headers": { "tenant": "acme", "n": 5 }, "body": { "order": 7 } },
        }))
        .unwrap();
        assert_eq!(
            (failure.age_ms, failure.expires_in_ms, failure.error.retry_after),
            (90_000_000, Some(60_000), Some(90_000))
        );
        assert_eq!(failure.now.to_string(), "2026-03-29T02:30:00.000Z");
        assert_eq!(failure.message.headers.get("tenant").and_then(|value| value.as_str()), Some("acme"));
        assert_eq!(failure.message.body.as_deref(), Some(&b"{\"order\":7}"[..]));
        let error = read(json!({ "error": "http-503" })).unwrap().error;
        assert_eq!((error.kind.as_str(), error.status), ("http-503", Some(503)), "a kind tells what hosts name by it");
    }

    #[test]
    fn the_age_is_that_of_the_message_where_nothing_else_is_written() {
        let dated = json!({ "timestamp": "2025-12-31T12:00:00Z" });
        assert_eq!(read(json!({ "message": dated })).unwrap().age_ms, 86_400_000);
        assert_eq!(read(json!({ "message": dated, "age": "1h" })).unwrap().age_ms, 3_600_000);
        assert_eq!(read(json!({ "message": dated, "age_ms": 0 })).unwrap().age_ms, 0);
    }

    #[test]
    fn what_is_wrong_is_named_by_its_path() {
        assert!(
            read(json!({ "age": "1h", "age_ms": 5 })).unwrap_err().starts_with("age: it is written as `age_ms` too")
        );
        assert!(read(json!({ "error": { "knd": "x" } })).unwrap_err().starts_with("error.knd: unknown field `knd`"));
        assert!(read(json!({ "age": "old" })).unwrap_err().starts_with("age: \"old\" is no duration"));
        assert!(read(json!({ "now": "noon" })).unwrap_err().starts_with("now: \"noon\" is no time"));
        assert!(read(json!({ "attempt": 0 })).unwrap_err().starts_with("attempt: "));
        assert!(read(json!([])).unwrap_err().starts_with("a failure is an object"));
    }
}
