//! Messages and leases.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json, value::RawValue};

use super::{Call, duration, error, no_topic};
use crate::narad::cluster::{Release, Shared};
use crate::narad::http::Answer;
use crate::narad::topic::Record;

const LARGEST: usize = 1024 * 1024;
const LONGEST_WAIT: Duration = Duration::from_secs(10);
const MOST: usize = 100;

pub(super) fn produce(shared: &Shared, call: &Call<'_>) -> Answer {
    let (name, payload) = (&call.path[2], &call.request.body);
    let mut topics = shared.topics();
    let Some(topic) = topics.topics.get(name) else { return no_topic() };
    if topic.delay_ms > 0 {
        return error(409, "direct produce to a delayed child topic is not allowed");
    }
    if payload.is_empty() {
        return error(400, "empty body");
    }
    if payload.len() > LARGEST {
        return error(413, "message too large");
    }
    if topic.schema {
        return error(400, "payload does not match the schema");
    }
    topics.produce(name, call.bytes("key").cloned(), payload.clone());
    Answer { status: 202, body: Vec::new() }
}

/// Waits for a first message, and answers with what is there then.
pub(super) async fn consume(shared: &Shared, call: &Call<'_>) -> (Answer, usize) {
    let name = &call.path[2];
    let wait = match call.parameter("wait").map(|wait| duration(&wait)) {
        Some(Some(wait)) => wait.min(LONGEST_WAIT),
        Some(None) => return (error(400, "bad wait"), 0),
        None => Duration::ZERO,
    };
    let batch = call.bytes("max").is_some() && shared.release >= Release::V3_1;
    let most = if batch { call.number("max").unwrap_or(0) } else { 1 };
    if !(1..=MOST).contains(&most) {
        return (error(400, "bad max"), 0);
    }
    if batch && call.request.header("x-narad-client").is_none() {
        return (error(400, "max needs an X-Narad-Client header"), 0);
    }
    if let Some(login) = call.request.header("authorization") {
        let consumer = (name.clone(), login.to_owned());
        shared.consumers.lock().unwrap_or_else(PoisonError::into_inner).insert(consumer);
    }
    let deadline = Instant::now() + wait;
    loop {
        let Some(taken) = shared.topics().take(name, most) else { return (no_topic(), 0) };
        if !taken.is_empty() {
            let shown: Vec<String> = taken
                .iter()
                .map(|taken| shown(name, taken.partition, taken.offset, &taken.record, Some(&taken.handle)))
                .collect();
            let body = if batch { format!("{{\"messages\":[{}]}}", shown.join(",")) } else { shown[0].clone() };
            return (Answer { status: 200, body: body.into_bytes() }, taken.len());
        }
        if Instant::now() >= deadline || shared.draining.load(Ordering::SeqCst) {
            return (Answer { status: 204, body: Vec::new() }, 0);
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

pub(super) fn replay(shared: &Shared, call: &Call<'_>) -> Answer {
    let Some(partition) = call.number("partition") else {
        return error(400, "partition required for replay-mode consume");
    };
    let (name, offset) = (&call.path[2], call.number("offset").unwrap_or(usize::MAX));
    let topics = shared.topics();
    let Some(topic) = topics.topics.get(name) else { return no_topic() };
    match topic.read(partition, offset) {
        Some(record) => Answer { status: 200, body: shown(name, partition, offset, record, None).into_bytes() },
        None => Answer { status: 204, body: Vec::new() },
    }
}

/// A message as JSON: JSON as it is, text as a string, anything else in base64.
fn shown(topic: &str, partition: usize, offset: usize, record: &Record, handle: Option<&str>) -> String {
    let text = std::str::from_utf8(&record.payload).ok();
    let is_json = text.is_some_and(|text| serde_json::from_str::<&RawValue>(text).is_ok());
    let (payload, encoding) = match text {
        Some(text) if is_json => (text.to_owned(), None),
        Some(text) => (Value::from(text).to_string(), None),
        None => (Value::from(STANDARD.encode(&record.payload)).to_string(), Some("base64")),
    };
    let mut rest = json!({ "topic": topic, "partition": partition, "offset": offset, "timestamp": record.stored });
    if let Some(key) = &record.key {
        match std::str::from_utf8(key) {
            Ok(key) => rest["key"] = json!(key),
            Err(_) => {
                rest["key"] = json!(STANDARD.encode(key));
                rest["key_encoding"] = json!("base64");
            }
        }
    }
    if let Some(encoding) = encoding {
        rest["payload_encoding"] = json!(encoding);
    }
    if let Some(handle) = handle {
        rest["receipt_handle"] = json!(handle);
    }
    let rest = rest.to_string();
    format!("{{\"payload\":{payload},{}", &rest[1..])
}

pub(super) fn settle(shared: &Shared, call: &Call<'_>) -> (Answer, usize) {
    let extend = match call.parameter("extend").as_deref() {
        None | Some("false") => None,
        Some("true" | "1") => Some(true),
        Some("0") => Some(false),
        Some(_) => return (error(400, "bad extend"), 0),
    };
    let (mut topics, name) = (shared.topics(), &call.path[2]);
    if !topics.topics.contains_key(name) {
        return (no_topic(), 0);
    }
    if let Some(handle) = call.parameter("receipt_handle") {
        let status = topics.settle(name, &handle, extend).unwrap_or(404);
        return match status {
            204 => (Answer { status, body: Vec::new() }, 1),
            410 => (error(status, "receipt handle no longer matches an active reservation"), 1),
            _ => (error(status, "bad receipt_handle"), 1),
        };
    }
    if shared.release < Release::V3_1 {
        return (error(400, "receipt_handle required"), 0);
    }
    let handles = handles(call);
    if !(1..=MOST).contains(&handles.len()) {
        return (error(400, "1 to 100 receipt handles"), 0);
    }
    let mut results = Vec::with_capacity(handles.len());
    for handle in &handles {
        let status = topics.settle(name, handle, extend).unwrap_or(404);
        if extend.is_none() {
            topics.answered_ack(status);
        }
        results.push(match status {
            204 => json!({ "status": 204 }),
            status => json!({ "status": status, "error": "receipt handle no longer matches an active reservation" }),
        });
    }
    let count = results.len();
    (Answer { status: 200, body: json!({ "results": results }).to_string().into_bytes() }, count)
}

/// Those of a batch.
fn handles(call: &Call<'_>) -> Vec<String> {
    let body = serde_json::from_slice::<Value>(&call.request.body).unwrap_or_default();
    let handles = body["receipt_handles"].as_array().into_iter().flatten().filter_map(Value::as_str);
    handles.map(str::to_owned).collect()
}

/// Notes what is to be acked, whatever the answer will be.
pub(super) fn count_acks(shared: &Shared, call: &Call<'_>) {
    if call.bytes("extend").is_some() {
        return;
    }
    let mut topics = shared.topics();
    for handle in call.parameter("receipt_handle").map_or_else(|| handles(call), |handle| vec![handle]) {
        topics.asked_to_ack(&handle);
    }
}
