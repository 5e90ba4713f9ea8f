//! What an attempt failed with.

use std::time::Duration;

/// An attempt's error, as the handler gave it or as the host made it for a handler that could not say.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HandlerError {
    /// A short stable name to branch on, such as `timeout`, `http-503` or `validation`.
    pub kind: String,
    /// One line for a person.
    pub text: String,
    /// A protocol's status code: HTTP's, or a command's exit code.
    pub status: Option<u16>,
    /// How long the failing side asks to be left alone.
    pub retry_after: Option<Duration>,
    /// Whatever else helps a person: a stack trace, a response body. The host may have cut it.
    pub detail: Option<String>,
    /// The handler panicked.
    pub panicked: bool,
    /// The handler did not answer within its time.
    pub timed_out: bool,
}
