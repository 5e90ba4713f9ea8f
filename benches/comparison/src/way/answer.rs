//! A verdict as the ways without the host's own types spell it.

use reprieve::verdict::{Action, Verdict};
use serde::Deserialize;

/// The action's name, and what belongs to it.
#[derive(Deserialize)]
pub(super) struct Answer<'a> {
    pub(super) action: &'a str,
    #[serde(default)]
    pub(super) delay_ms: Option<u64>,
    #[serde(default)]
    pub(super) label: Option<&'a str>,
    pub(super) reason: &'a str,
}

impl Answer<'_> {
    /// The verdict that is meant.
    pub(super) fn verdict(self) -> anyhow::Result<Verdict> {
        let action = match (self.action, self.delay_ms) {
            ("retry", Some(delay_ms)) => Action::Retry { delay_ms },
            ("delay", Some(delay_ms)) => Action::Delay { delay_ms },
            ("dead-letter", None) => Action::DeadLetter { label: self.label.map(str::to_owned) },
            (action, delay) => anyhow::bail!("no verdict of these rules: {action} with the delay {delay:?}"),
        };
        Ok(Verdict::new(action, self.reason))
    }
}
