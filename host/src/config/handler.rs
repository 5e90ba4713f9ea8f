//! A route's `handler`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use super::{Secret, SecretUrl};

/// What processes a route's messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HandlerConfig {
    /// `kind = "http"`: each message is a POST request.
    Http(HttpConfig),
    /// `kind = "command"`: each message is one run of a program.
    Command(CommandConfig),
    /// `kind = "judge"`: no handler; each message is a failure already.
    Judge(JudgeConfig),
}

/// An HTTP endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpConfig {
    /// An `http://` address.
    pub url: SecretUrl,
    /// How long one attempt may take. More than zero.
    pub timeout: Duration,
    /// The response header that names the error kind.
    pub error_kind_header: Option<String>,
    /// Sent with each request: name (lower case) and value.
    pub headers: BTreeMap<String, Secret>,
}

/// A program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandConfig {
    /// The program and its arguments. Not empty. A relative path with a `/` in it is resolved already.
    pub program: Vec<String>,
    /// How long one attempt may take. More than zero.
    pub timeout: Duration,
    /// Set in the program's environment, beside what the host itself was started with.
    pub env: BTreeMap<String, Secret>,
    /// The folder that the program starts in.
    pub directory: Option<PathBuf>,
}

/// Where a failure that is a message already says what went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgeConfig {
    /// The message header that holds the error kind.
    pub error_kind_header: Option<String>,
    /// The message header that holds the error's text.
    pub error_header: Option<String>,
    /// The queue that a retry or delay goes back to, where the message itself does not say.
    pub origin: Option<String>,
    /// Ask the policy also about messages that expired or overflowed; otherwise they are dead-lettered.
    pub judge_expired: bool,
}
