//! The settings, all of which may be left out.

use std::time::Duration;

use reprieve_sdk::{KindPattern, RetryOverrides, duration};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Settings {
    /// No attempt begins once the message is older than this.
    #[serde(with = "duration")]
    pub(crate) deadline: Duration,
    /// Which tier a message goes through from which age on. Left out: made from the route's tiers.
    pub(crate) steps: Option<Vec<Step>>,
    /// The attempts in process that come first, laid over the route's retry settings.
    pub(crate) retry: RetryOverrides,
    /// The label under which a message is parked that is out of time.
    pub(crate) expired: Option<String>,
    /// The kinds of errors that say that a message is invalid.
    pub(crate) invalid: Vec<KindPattern>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Step {
    /// The age from which on it is for a message.
    #[serde(default, with = "duration")]
    pub(crate) from: Duration,
    pub(crate) tier: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(24 * 60 * 60),
            steps: None,
            retry: RetryOverrides::default(),
            expired: None,
            invalid: vec!["validation*".into(), "invalid*".into()],
        }
    }
}
