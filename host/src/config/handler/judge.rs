//! `handler = { kind = "judge", … }`

use crate::config::section::Section;

/// Where a failure that is a message already says what went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgeConfig {
    /// The message header that holds the error kind.
    pub error_kind_header: Option<String>,
    /// The message header that holds the error's text.
    pub error_header: Option<String>,
    /// The message header that holds a stack trace or the like.
    pub error_detail_header: Option<String>,
    /// The message header that asks for a pause, in seconds or as an HTTP date.
    pub retry_after_header: Option<String>,
    /// The message header that names the queue that a retry or delay goes back to.
    pub origin_header: Option<String>,
    /// The queue that every retry or delay goes back to, whatever the message says.
    pub origin: Option<String>,
    /// Ask the policy also about messages that expired or overflowed; otherwise they are dead-lettered.
    pub judge_expired: bool,
}

impl JudgeConfig {
    pub(super) fn read(section: &Section<'_>) -> Self {
        let text = |key| section.text(key).map(|text| (*text.get_ref()).to_owned());
        Self {
            error_kind_header: text("error_kind_header"),
            error_header: text("error_header"),
            error_detail_header: text("error_detail_header"),
            retry_after_header: text("retry_after_header"),
            origin_header: text("origin_header"),
            origin: text("origin"),
            judge_expired: section.boolean("judge_expired").unwrap_or(false),
        }
    }
}
