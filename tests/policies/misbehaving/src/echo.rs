//! What the policy sees, as JSON, so that tests can compare it with what the host was given.

use std::time::{Duration, SystemTime};

use reprieve_sdk::{Failure, HeaderValue, Route};
use serde_json::{Value, json};

pub(crate) fn json(route: &Route, failure: &Failure) -> String {
    json!({ "route": route_json(route), "failure": failure_json(failure) }).to_string()
}

fn route_json(route: &Route) -> Value {
    let tiers = route.tiers.iter().map(|tier| json!({ "name": tier.name, "delay": millis(tier.delay) }));
    json!({
        "name": route.name,
        "source": route.source,
        "tiers": tiers.collect::<Vec<_>>(),
        "dead_letters": route.dead_letters,
        "retry": route.retry,
        "limits": {
            "max_retry_delay": millis(route.limits.max_retry_delay),
            "max_body": route.limits.max_body,
        },
    })
}

fn failure_json(failure: &Failure) -> Value {
    let error = &failure.error;
    let health = &failure.health;
    let headers = failure.headers.iter().map(|(name, value)| json!([name, header_json(value)]));
    json!({
        "id": failure.id,
        "key": failure.key,
        "headers": headers.collect::<Vec<_>>(),
        "body": failure.body,
        "body_size": failure.body_size,
        "content_type": failure.content_type,
        "attempt": failure.attempt,
        "interruptions": failure.interruptions,
        "redelivered": failure.redelivered,
        "tier": failure.tier,
        "age": millis(failure.age),
        "expires_in": failure.expires_in.map(millis),
        "error": {
            "kind": error.kind,
            "text": error.text,
            "status": error.status,
            "retry_after": error.retry_after.map(millis),
            "detail": error.detail,
            "panicked": error.panicked,
            "timed_out": error.timed_out,
        },
        "health": {
            "attempts": health.attempts,
            "failures": health.failures,
            "retries": health.retries,
            "failures_of_this_kind": health.failures_of_this_kind,
            "consecutive_failures": health.consecutive_failures,
        },
        "now": failure.now.duration_since(SystemTime::UNIX_EPOCH).map_or(Value::Null, |now| json!(millis(now))),
        "seed": failure.seed,
        "attributes": failure.attributes,
    })
}

fn header_json(value: &HeaderValue) -> Value {
    match value {
        HeaderValue::Null => Value::Null,
        HeaderValue::Bool(value) => json!({ "boolean": value }),
        HeaderValue::Integer(number) => json!({ "integer": number }),
        HeaderValue::Float(number) => json!({ "float": number }),
        HeaderValue::Text(text) => json!({ "text": text }),
        HeaderValue::Bytes(bytes) => json!({ "bytes": bytes }),
        HeaderValue::Timestamp(time) => json!({ "timestamp": millis(*time) }),
        HeaderValue::Json(text) => json!({ "json": text }),
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
