//! What the host told, in words.

use crate::reprieve::policy::types::{Error, Failure, HeaderValue, Health, Jitter, Route};

pub fn route(route: &Route, settings: &str) -> String {
    let tiers: Vec<_> = route.tiers.iter().map(|tier| format!("{}={}", tier.name, tier.delay)).collect();
    let retry = &route.retry;
    let jitter = match retry.jitter {
        Jitter::None => "none",
        Jitter::Equal => "equal",
        Jitter::Full => "full",
    };
    format!(
        "route {} from {}, tiers {tiers:?}, dead letters {:?}, retry {} {} {} {} {jitter}, limits {} {}, \
         attributes {}, settings {settings}",
        route.name,
        route.source,
        route.dead_letters,
        retry.max_attempts,
        retry.initial_delay,
        retry.max_delay,
        retry.factor,
        route.limits.max_retry_delay,
        route.limits.max_body,
        pairs(&route.attributes),
    )
}

pub fn failure(failure: &Failure) -> String {
    let headers: Vec<_> =
        failure.headers.iter().map(|header| format!("{}: {}", header.name, value(&header.value))).collect();
    format!(
        "message {} {} {headers:?} body {} of {}, {}, attempt {}, interruptions {}, redelivered {}, tier {}, age {}, \
         expires in {}, {}, {}, now {}, seed {}, attributes {}",
        or_none(failure.id.as_deref()),
        or_none(failure.key.as_deref().map(hex)),
        or_none(failure.body.as_deref().map(hex)),
        failure.body_size,
        or_none(failure.content_type.as_deref()),
        failure.attempt,
        failure.interruptions,
        failure.redelivered,
        or_none(failure.tier.as_deref()),
        failure.age,
        or_none(failure.expires_in),
        error(&failure.error),
        health(&failure.health),
        failure.now,
        failure.seed,
        pairs(&failure.attributes),
    )
}

fn error(error: &Error) -> String {
    format!(
        "error {}: {}, status {}, retry after {}, detail {}, panicked {}, timed out {}",
        error.kind,
        error.text,
        or_none(error.status),
        or_none(error.retry_after),
        or_none(error.detail.as_deref()),
        error.panicked,
        error.timed_out,
    )
}

fn health(health: &Health) -> String {
    format!(
        "health {} {} {} {} {}",
        health.attempts, health.failures, health.retries, health.failures_of_this_kind, health.consecutive_failures,
    )
}

fn value(value: &HeaderValue) -> String {
    match value {
        HeaderValue::Null => "null".to_owned(),
        HeaderValue::Boolean(value) => format!("boolean {value}"),
        HeaderValue::Integer(number) => format!("integer {number}"),
        HeaderValue::Float(number) => format!("float {number}"),
        HeaderValue::Text(text) => format!("text {text}"),
        HeaderValue::Bytes(bytes) => format!("bytes {}", hex(bytes)),
        HeaderValue::Timestamp(millis) => format!("timestamp {millis}"),
        HeaderValue::Json(json) => format!("json {json}"),
    }
}

fn pairs(pairs: &[(String, String)]) -> String {
    let pairs: Vec<_> = pairs.iter().map(|(name, value)| format!("{name}={value}")).collect();
    format!("{pairs:?}")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn or_none(value: Option<impl ToString>) -> String {
    value.map_or("none".to_owned(), |value| value.to_string())
}
