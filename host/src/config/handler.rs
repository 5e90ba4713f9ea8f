//! A route's `handler`.

mod command;
mod http;
mod judge;

use std::path::Path;
use std::time::Duration;

pub use command::CommandConfig;
pub use http::HttpConfig;
pub(super) use http::read_headers;
pub use judge::JudgeConfig;

use super::section::Section;
use super::suggestion::suggest;

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

impl HandlerConfig {
    /// Reads a `handler` table. Relative paths are of `folder`.
    pub(super) fn read(section: Section<'_>, folder: &Path) -> Option<Self> {
        const KINDS: [&str; 3] = ["http", "command", "judge"];
        let kind = section.required_text("kind", "add kind = \"http\", kind = \"command\" or kind = \"judge\"")?;
        let handler = match *kind.get_ref() {
            "http" => HttpConfig::read(&section).map(Self::Http),
            "command" => CommandConfig::read(&section, folder).map(Self::Command),
            "judge" => Some(Self::Judge(JudgeConfig::read(&section))),
            other => {
                section.problems.error(
                    &kind.span(),
                    format!("there is no handler kind \"{other}\""),
                    suggest(other, &KINDS),
                );
                // Its other keys depend on the kind, so there is nothing to check them against.
                return None;
            }
        };
        section.finish();
        handler
    }
}

/// `timeout` of a handler that runs something.
fn read_timeout(section: &Section<'_>) -> Duration {
    section.positive_duration("timeout").map_or(Duration::from_secs(30), |timeout| timeout.into_inner())
}
