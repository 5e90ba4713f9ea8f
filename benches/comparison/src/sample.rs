//! The failures that are judged: each rule reached at several attempts, and some that no rule is for.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use comparison_rules::Settings;
use reprieve::failure::{Failure, Health};
use reprieve::handler_error::HandlerError;
use reprieve::message::Message;
use reprieve::timestamp::Timestamp;

/// What every way of deciding is given.
pub(crate) const SETTINGS: &str = include_str!("../rules.json");

/// One failure, as a host has it and as a policy in Rust sees it.
pub(crate) struct Sample {
    pub(crate) failure: Failure,
    pub(crate) seen: reprieve_sdk::Failure,
}

/// For the tenth of the rules that looks at a header, the message that has it and the one that has not.
pub(crate) fn all() -> anyhow::Result<Vec<Sample>> {
    let settings: Settings = serde_json::from_str(SETTINGS)?;
    let mut samples = Vec::new();
    for rule in &settings.rules {
        let kind = rule.kind.as_str().replace('*', "-of-some-sort");
        let condition = rule.header.as_ref().map(|header| (header.name.as_str(), header.value.as_str()));
        for attempt in [1, rule.retry.max_attempts] {
            samples.push(sample(samples.len(), &kind, attempt, condition));
        }
        if rule.header.is_some() {
            samples.push(sample(samples.len(), &kind, 2, None));
        }
    }
    for (kind, attempt) in [("unheard-of", 1), ("timeou", 3), ("", 1), ("http-503", 7), ("db-deadlock", u32::MAX)] {
        samples.push(sample(samples.len(), kind, attempt, None));
    }
    Ok(samples)
}

/// A message with eight headers, of which one may be what a rule asks for.
fn sample(number: usize, kind: &str, attempt: u32, header: Option<(&str, &str)>) -> Sample {
    let mut headers = [
        ("tenant", "globex"),
        ("event", "order.created"),
        ("region", "us"),
        ("plan", "business"),
        ("source", "checkout-service"),
        ("schema", "orders/v3"),
        ("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
        ("correlation-id", "3f1c9f9e-9a1b-4e0e-8a57-1f0d3c5b7a90"),
    ];
    if let Some((name, value)) = header {
        headers.iter_mut().filter(|(present, _)| *present == name).for_each(|(_, present)| *present = value);
    }
    let mut message = Message::new(vec![b'x'; 1024]).with_id(format!("order-{number}"));
    message.properties.content_type = Some("application/json".to_owned());
    let mut seen = reprieve_sdk::Failure::new(kind).id(format!("order-{number}")).attempt(attempt);
    for (name, value) in headers {
        message.headers.push(name, value);
        seen = seen.header(name, value);
    }
    let text = "POST http://127.0.0.1:9000/orders did not succeed";
    let failure = Failure {
        body_size: 1024,
        message: Arc::new(message),
        attempt,
        interruptions: 0,
        redelivered: false,
        tier: None,
        age_ms: 1_500,
        expires_in_ms: Some(3_600_000),
        error: HandlerError::new(kind, text),
        health: Health { attempts: 60, failures: 3, retries: 2, failures_of_this_kind: 1, consecutive_failures: 1 },
        now: Timestamp(1_700_000_000_000),
        seed: 42,
        attributes: Vec::new(),
    };
    seen.body_size = failure.body_size;
    seen.content_type.clone_from(&failure.message.properties.content_type);
    seen.age = Duration::from_millis(failure.age_ms);
    seen.expires_in = failure.expires_in_ms.map(Duration::from_millis);
    seen.error.text = text.to_owned();
    seen.now = UNIX_EPOCH + Duration::from_millis(failure.now.0);
    seen.seed = failure.seed;
    Sample { failure, seen }
}
