//! What the measurements of decisions have in common: a route, a failure with eight headers, twenty rules.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use reprieve::failure::{Failure, Health};
use reprieve::handler_error::HandlerError;
use reprieve::message::Message;
use reprieve::policy::route_record::RouteRecord;
use reprieve::timestamp::Timestamp;
use reprieve::topic::Tier;
use serde_json::{Value, json};

pub(crate) fn route() -> RouteRecord {
    let tier = |name: &str, seconds| Tier { name: name.to_owned(), delay: Duration::from_secs(seconds) };
    RouteRecord {
        name: "orders".to_owned(),
        source: "orders".to_owned(),
        tiers: vec![tier("30s", 30), tier("5m", 300)],
        dead_letters: vec!["default".to_owned(), "invalid".to_owned()],
        retry: reprieve_sdk::RetryPolicy { max_attempts: 5, ..reprieve_sdk::RetryPolicy::default() },
        max_retry_delay: Duration::from_secs(60),
        max_body: 0,
    }
}

/// With eight headers.
pub(crate) fn failure() -> Failure {
    let mut message = Message::new(vec![b'x'; 1024]).with_id("3f1c9f9e-order-4711");
    for n in 0..8 {
        message.headers.push(format!("header-{n}"), format!("a value of ordinary length, {n}"));
    }
    Failure {
        body_size: 1024,
        message: Arc::new(message),
        attempt: 2,
        interruptions: 0,
        redelivered: false,
        tier: None,
        age_ms: 1_500,
        expires_in_ms: None,
        error: HandlerError::new("http-503", "the service is unavailable"),
        health: Health::default(),
        now: Timestamp(1_700_000_000_000),
        seed: 42,
        attributes: Vec::new(),
    }
}

/// The policy of `tests/policies/rules`, as it was built.
pub(crate) fn rules_policy() -> anyhow::Result<Vec<u8>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/test-policies/rules.wasm");
    std::fs::read(&path)
        .with_context(|| format!("cannot read {}: run `cargo xtask test-policies` first", path.display()))
}

/// Twenty rules that name the eight headers. Only the last one is for [`failure`].
pub(crate) fn twenty_rules() -> Value {
    let rule = |n: usize| {
        json!({
            "pattern": if n < 12 { format!("http-4{n:02}") } else { "http-5*".to_owned() },
            "header": format!("header-{}", n % 8),
            "value": if n == 19 { format!("a value of ordinary length, {}", n % 8) } else { format!("another value, {n}") },
            "delay": format!("{}s", 30 + n),
            "label": format!("rule number {n}"),
        })
    };
    json!({"rules": (0..20).map(rule).collect::<Vec<_>>()})
}
