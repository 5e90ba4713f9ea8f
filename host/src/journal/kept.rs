//! How much of a message an entry holds.

use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// What was withheld of a recorded failure. Whatever is not named here is as the policy saw it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Kept {
    /// Headers that the failure lacks, in order, each with a keyed hash of its value: equal values have equal hashes in one
    /// journal.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub withheld_headers: Vec<(String, String)>,
    /// The keyed hash of the whole body, where less than all of it is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body_hash: Option<String>,
    /// Where masking changed a text, such as `error.text` or `headers.x-token`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub masked: Vec<String>,
}

impl Kept {
    /// Whether nothing is missing and nothing was changed.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        *self == Self::default()
    }

    /// Whether the first `bytes` of the body are there, or all of a shorter one.
    #[must_use]
    pub fn has_body(&self, failure: &Failure, bytes: u64) -> bool {
        self.body_hash.is_none() || failure.message.body_size() as u64 >= bytes.min(failure.body_size)
    }
}
