//! What did not become live, remembered so that it is neither tried nor told of twice.

use std::time::Instant;

use crate::policy::status::LastError;
use crate::timestamp::Timestamp;

/// What a reload compares: the same pair is not loaded again, whether it went live or was rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pair {
    /// The file's digest, or why there is no file that may be loaded.
    pub(super) content: String,
    /// Of the route's configuration; `None` for settings or a policy that it no longer names.
    pub(super) generation: Option<u64>,
}

/// Why a pair did not go live.
pub(super) struct Refusal {
    pub(super) text: String,
    /// The cause is not in the pair, so the same pair may go live later.
    pub(super) may_pass: bool,
}

impl Refusal {
    /// The same pair would be refused for ever.
    pub(super) fn of_the_pair(text: String) -> Self {
        Self { text, may_pass: false }
    }
}

/// A pair that did not go live.
pub(super) struct Refused {
    pub(super) pair: Pair,
    pub(super) error: LastError,
    pub(super) since: Instant,
    /// It is in the log and in the status.
    pub(super) declared: bool,
    pub(super) may_pass: bool,
}

impl Refused {
    /// A refusal of `pair`, which is the one before where its text is the same.
    pub(super) fn again(before: Option<Self>, pair: Pair, refusal: Refusal) -> Self {
        match before {
            Some(before) if before.error.text == refusal.text => before,
            _ => Self {
                pair,
                error: LastError { at: Timestamp::now(), text: refusal.text },
                since: Instant::now(),
                declared: false,
                may_pass: refusal.may_pass,
            },
        }
    }
}
