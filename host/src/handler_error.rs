//! What an attempt failed with.

use serde::{Deserialize, Serialize};

use crate::timestamp::Timestamp;

/// An attempt's error, as the handler gave it or as the host made it for a handler that could not say.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, thiserror::Error)]
#[serde(default, deny_unknown_fields)]
#[error("{kind}: {text}")]
pub struct HandlerError {
    /// A short stable name that policies branch on, such as `timeout`, `http-503` or `validation`.
    pub kind: String,
    /// One line for a person.
    pub text: String,
    /// A protocol's status code: HTTP's, or a command's exit code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// How long the failing side asks to be left alone, in milliseconds.
    #[serde(rename = "retry_after_ms", skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u64>,
    /// Whatever else helps a person: a stack trace, a response body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The handler panicked.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub panicked: bool,
    /// The handler did not answer within its time.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
}

impl HandlerError {
    /// An error of this kind, with a line for a person.
    pub fn new(kind: impl Into<String>, text: impl Into<String>) -> Self {
        Self { kind: kind.into(), text: text.into(), ..Self::default() }
    }

    /// An error of which only kind and text are known. What hosts' own names for kinds tell beside is filled in: `timeout`,
    /// `panic`, and the status of `http-503` or `exit-2`.
    #[must_use]
    pub fn from_kind(kind: impl Into<String>, text: impl Into<String>) -> Self {
        let kind = kind.into();
        let status = ["http-", "exit-"].iter().find_map(|named| kind.strip_prefix(named)?.parse().ok());
        let (timed_out, panicked) = (kind == "timeout", kind == "panic");
        Self { status, timed_out, panicked, ..Self::new(kind, text) }
    }

    /// The error of an attempt that did not end within `timeout`: kind `timeout`.
    #[must_use]
    pub fn timeout(timeout: std::time::Duration) -> Self {
        let timeout = humantime::format_duration(timeout);
        let text = format!("the handler did not answer within {timeout}; raise its timeout if it needs longer");
        Self { timed_out: true, ..Self::new("timeout", text) }
    }

    /// The kind of [`HandlerError::interrupted`].
    pub const INTERRUPTED: &str = "interrupted";

    /// The error of a message whose attempts were cut off this many times without a result: kind `interrupted`.
    #[must_use]
    pub fn interrupted(times: u32) -> Self {
        Self::new(
            Self::INTERRUPTED,
            format!("{times} attempts ended without a result: the host ended, or the broker took the message back"),
        )
    }

    /// The error of a message whose expiration passed before it could be handled again: kind `expired`.
    #[must_use]
    pub fn expired(at: Timestamp) -> Self {
        Self::new("expired", format!("the message expired at {at}, before this attempt"))
    }
}
