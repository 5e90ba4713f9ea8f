//! The settings, all of which may be left out.

use std::time::Duration;

use reprieve_sdk::{KindPattern, duration, standard};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Settings {
    /// The kinds of errors that say that a message is invalid.
    pub(crate) invalid: Vec<KindPattern>,
    /// Attempts in all at what timed out or was limited, the first included.
    pub(crate) max_attempts: u32,
    /// How many time-outs are tried again in process.
    pub(crate) timeout_retries: u32,
    /// The wait before each of those.
    #[serde(with = "duration")]
    pub(crate) timeout_wait: Duration,
    /// The delay after further time-outs, and after a rate limit that does not say for how long it holds.
    #[serde(with = "duration")]
    pub(crate) delay: Duration,
    /// Try no more once the message is this old, nor where it would be older by the next attempt.
    #[serde(with = "duration::option")]
    pub(crate) give_up_after: Option<Duration>,
    /// The standard policy's settings, for every other error. Its `exhausted` and `max_retry_after` hold for all.
    pub(crate) standard: standard::Settings,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            invalid: vec!["validation*".into(), "invalid*".into()],
            max_attempts: 10,
            timeout_retries: 2,
            timeout_wait: Duration::from_secs(1),
            delay: Duration::from_secs(30),
            give_up_after: None,
            standard: standard::Settings::default(),
        }
    }
}

impl Settings {
    /// The standard policy's settings, with the age limit that holds for all.
    pub(crate) fn for_standard(&self) -> standard::Settings {
        let settings = self.standard.clone();
        standard::Settings { give_up_after: settings.give_up_after.or(self.give_up_after), ..settings }
    }
}
