//! A failed attempt, as the policy sees it. Its JSON form is the one used in logs, journals and tools.

mod dead_letter;
mod written;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::handler_error::HandlerError;
use crate::message::Message;
use crate::timestamp::Timestamp;

pub use dead_letter::DeadLetter;
pub use written::WrittenError;

/// Everything that a policy may base its verdict on. A recorded failure can be judged again with the same answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// The message, whole. A policy gets as much of it as it said that it needs.
    pub message: Arc<Message>,
    /// The length of the whole body in bytes, also where the body here was cut.
    #[serde(default)]
    pub body_size: u64,
    /// The attempt that failed, from 1. In `judge` mode, how often the message has arrived.
    pub attempt: u32,
    /// Attempts that ended without a result, as far as they are known.
    #[serde(default)]
    pub interruptions: u32,
    /// The broker says that it handed this message over before.
    #[serde(default)]
    pub redelivered: bool,
    /// The tier that the message last came back from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<String>,
    /// Time since the message's own timestamp; since its first failure where it has none, or one that is later than
    /// that. Zero where neither is known.
    #[serde(default)]
    pub age_ms: u64,
    /// Time left until the message expires; zero when that has passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in_ms: Option<u64>,
    /// What the attempt failed with.
    pub error: HandlerError,
    /// How the route has been doing.
    #[serde(default)]
    pub health: Health,
    /// The host's clock when the attempt failed.
    pub now: Timestamp,
    /// Random bits for jitter, drawn by the host so that the failure can be judged again.
    #[serde(default)]
    pub seed: u64,
    /// Facts that the interface has no field for, by the names in [`attribute`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attributes: Vec<(String, String)>,
}

/// A route's recent past: counts over the last minute, this failure included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Health {
    /// Attempts that ended.
    pub attempts: u32,
    /// Attempts that failed.
    pub failures: u32,
    /// Retries and delays that were ordered.
    pub retries: u32,
    /// Failures of this failure's error kind.
    pub failures_of_this_kind: u32,
    /// Failures since the last success, whenever that was.
    pub consecutive_failures: u32,
}

/// The names of a failure's attributes, which the interface's documentation explains.
pub mod attribute {
    /// When the message first failed on this route, in milliseconds since the Unix epoch.
    pub const FIRST_FAILED_AT: &str = "first-failed-at";
    /// How often it was put back from a dead-letter topic.
    pub const REDRIVES: &str = "redrives";
    /// The exchange that it was first published to.
    pub const EXCHANGE: &str = "exchange";
    /// The routing key that it was first published with.
    pub const ROUTING_KEY: &str = "routing-key";
    /// The sender's name for the kind of message.
    pub const MESSAGE_TYPE: &str = "message-type";
    /// All of them.
    pub const ALL: [&str; 5] = [FIRST_FAILED_AT, REDRIVES, EXCHANGE, ROUTING_KEY, MESSAGE_TYPE];
}
