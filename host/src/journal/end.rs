//! How a message that had failed before left the route without failing again.

use serde::{Deserialize, Serialize};

use crate::timestamp::Timestamp;

/// The end of a message's stay that no verdict brought about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// When.
    pub at: Timestamp,
    /// The route's name.
    pub route: String,
    /// The message's id, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// The attempt that ended last, from 1; 0 before the first.
    pub attempt: u32,
    /// How.
    pub kind: EndKind,
    /// More, for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// The kinds of such ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndKind {
    /// An attempt after a failed one succeeded.
    Succeeded,
    /// Acknowledged without an attempt: it was dealt with before.
    Skipped,
    /// The broker's again, undecided.
    Released,
}
