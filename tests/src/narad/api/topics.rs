//! What topics are like.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Call, error, no_topic};
use crate::narad::cluster::Shared;
use crate::narad::http::Answer;
use crate::narad::topic::Topic;

const HOUR: u64 = 60 * 60 * 1000;
const A_YEAR: u64 = 365 * 24 * HOUR;
const FIELDS: [&str; 8] = [
    "name",
    "partitions",
    "retention_ms",
    "visibility_timeout_ms",
    "max_in_flight_per_partition",
    "max_acked_ahead_per_partition",
    "parent",
    "fanout_delay_ms",
];

pub(super) fn show(shared: &Shared, call: &Call<'_>) -> Answer {
    let topics = shared.topics();
    let Some(name) = call.path.get(2) else {
        let after = call.parameter("page_token").unwrap_or_default();
        let limit = call.number("limit").unwrap_or(100).min(1000);
        let mut rest = topics.topics.iter().filter(|(name, _)| **name > after);
        let page: Vec<_> = rest.by_ref().take(limit).collect();
        let more = rest.next().is_some();
        let next = if more { page.last().map_or("", |(name, _)| name.as_str()) } else { "" };
        let page: Vec<Value> = page.iter().map(|(name, topic)| shown(name, topic)).collect();
        return ok(200, &json!({ "topics": page, "next_page_token": next }));
    };
    let Some(topic) = topics.topics.get(name) else { return no_topic() };
    let mut body = shown(name, topic);
    body["schema_version"] = json!(u8::from(topic.schema));
    let stats = topic.ends().into_iter().enumerate().map(|(index, end)| {
        json!({ "index": index, "oldest_offset": 0, "next_offset": end, "high_watermark": end, "status": "ok" })
    });
    body["partition_stats"] = stats.collect();
    ok(200, &body)
}

pub(super) fn create(shared: &Shared, call: &Call<'_>) -> Answer {
    let Ok(Value::Object(wanted)) = serde_json::from_slice(&call.request.body) else {
        return error(400, "invalid json");
    };
    if let Some(unknown) = wanted.keys().find(|field| !FIELDS.contains(&field.as_str())) {
        return error(400, &format!("invalid json: json: unknown field \"{unknown}\""));
    }
    let number = |field: &str| wanted.get(field).and_then(Value::as_u64);
    let text = |field: &str| wanted.get(field).and_then(Value::as_str);
    let Some(name) = text("name") else { return error(400, "name required") };
    let (parent, delay) = (text("parent"), number("fanout_delay_ms").unwrap_or(0));
    let retention = number("retention_ms").unwrap_or(7 * 24 * HOUR);
    if retention != 0 && retention < HOUR {
        return error(400, "retention_ms must be at least one hour");
    }
    if (delay > 0 && parent.is_none()) || delay > A_YEAR {
        return error(400, "bad fanout_delay_ms");
    }
    let mut topics = shared.topics();
    if topics.topics.keys().any(|other| other.eq_ignore_ascii_case(name)) {
        return error(409, "topic already exists");
    }
    if let Some(parent) = parent {
        let Some(parent) = topics.topics.get(parent) else { return no_topic() };
        if parent.parent.is_some() {
            return error(409, "a child cannot have children");
        }
        if delay > 0 && parent.retention_ms != 0 && parent.retention_ms < delay + HOUR {
            return error(409, "the parent's retention is too short for the delay");
        }
    }
    let visibility = Duration::from_millis(number("visibility_timeout_ms").filter(|ms| *ms > 0).unwrap_or(30_000));
    let partitions = usize::try_from(number("partitions").unwrap_or(3)).unwrap_or(3);
    let mut topic = Topic::new(partitions, retention, visibility);
    (topic.parent, topic.delay_ms) = (parent.map(str::to_owned), delay);
    let body = shown(name, &topic);
    topics.create(name, topic);
    ok(201, &body)
}

pub(super) fn metrics(shared: &Shared) -> Answer {
    let mut text = String::new();
    for (name, topic) in &shared.topics().topics {
        for (partition, lag) in topic.lags().into_iter().enumerate() {
            writeln!(text, "narad_consumer_lag_messages{{partition=\"{partition}\",topic=\"{name}\"}} {lag}")
                .expect("writing to a string cannot fail");
        }
    }
    Answer { status: 200, body: text.into_bytes() }
}

fn shown(name: &str, topic: &Topic) -> Value {
    let visibility = u64::try_from(topic.visibility.as_millis()).unwrap_or(u64::MAX);
    let mut shown = json!({
        "name": name,
        "partitions": topic.partition_count(),
        "retention_ms": topic.retention_ms,
        "visibility_timeout_ms": visibility,
        "max_in_flight_per_partition": 1024,
        "max_acked_ahead_per_partition": 1024,
        "created_at": 1_790_623_903,
    });
    if !topic.children.is_empty() {
        shown["children"] = json!(topic.children);
    }
    if let Some(parent) = &topic.parent {
        shown["parent"] = json!(parent);
    }
    if topic.delay_ms > 0 {
        shown["fanout_delay_ms"] = json!(topic.delay_ms);
    }
    shown
}

fn ok(status: u16, body: &Value) -> Answer {
    Answer { status, body: body.to_string().into_bytes() }
}
