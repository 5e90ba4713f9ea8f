//! Made-up failures that every policy has to judge before it goes live.

use std::sync::Arc;

use crate::failure::Failure;
use crate::handler_error::HandlerError;
use crate::message::Message;
use crate::timestamp::Timestamp;

/// The failures, each with a name for the message that refuses the policy.
pub(crate) fn failures() -> [(&'static str, Failure); 4] {
    let whole = || {
        let mut message = Message::new("{}").with_id("smoke").with_header("tenant", "smoke");
        message.properties.content_type = Some("application/json".into());
        message.timestamp = Some(Timestamp::now());
        message
    };
    [
        ("the first attempt", failure(whole(), 1)),
        ("the second attempt", failure(whole(), 2)),
        ("the last attempt that can be counted", failure(whole(), u32::MAX)),
        ("no id, body or headers", failure(Message::default(), 1)),
    ]
}

fn failure(message: Message, attempt: u32) -> Failure {
    Failure {
        body_size: message.body_size() as u64,
        message: Arc::new(message),
        attempt,
        interruptions: 0,
        redelivered: false,
        tier: None,
        age_ms: 0,
        expires_in_ms: None,
        error: HandlerError::new("smoke", "a failure made up by the host, to try the policy"),
        health: Default::default(),
        now: Timestamp::now(),
        seed: 0,
        attributes: Vec::new(),
    }
}
