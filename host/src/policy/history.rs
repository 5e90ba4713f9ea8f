//! What a route's policies came to, kept over restarts beside its last good one: versions to go back to, files that are not
//! taken again, and a candidate that was promoted past the file in the folder.

use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::timestamp::Timestamp;

pub(super) const FILE: &str = "history.json";

/// Versions that are kept to go back to.
const MOST_PREVIOUS: usize = 5;

/// Files that are remembered as taken back; the oldest are forgotten first.
const MOST_ROLLED_BACK: usize = 50;

/// See the module.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct History {
    /// A candidate that is live in the place of the file in the folder.
    pub(super) promoted: Option<Promoted>,
    /// The latest first.
    pub(super) previous: Vec<Previous>,
    /// The latest last.
    pub(super) rolled_back: Vec<RolledBack>,
}

/// The candidate, for as long as the file in the folder is the one that it was promoted past.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Promoted {
    /// The candidate's digest.
    pub(super) digest: String,
    /// The digest of the file in the folder.
    pub(super) instead_of: String,
}

/// A version that was live before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Previous {
    pub(super) policy: String,
    pub(super) digest: String,
    pub(super) settings: Value,
}

/// A file that was taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RolledBack {
    pub(super) digest: String,
    pub(super) at: Timestamp,
    pub(super) reason: String,
}

impl History {
    /// What is in the route's folder. Nothing where there is none yet.
    ///
    /// # Errors
    /// What is there cannot be read.
    pub(super) fn read(folder: &Path) -> Result<Self, String> {
        let path = folder.join(FILE);
        match fs::read(&path) {
            Ok(text) => {
                serde_json::from_slice(&text).map_err(|error| format!("{} is damaged: {error}", path.display()))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(format!("cannot read {}: {error}", path.display())),
        }
    }

    /// Why a file is not taken, where it was taken back before.
    pub(super) fn refusal(&self, digest: &str) -> Option<String> {
        let RolledBack { at, reason, .. } = self.rolled_back.iter().rev().find(|file| file.digest == digest)?;
        Some(format!("this very file was rolled back at {at} ({reason}); put another one there"))
    }

    /// Why a file is not tried as a candidate, where it was promoted before: whatever is live by now came after it.
    pub(super) fn is_spent(&self, digest: &str) -> Option<String> {
        self.promoted.as_ref().filter(|promoted| promoted.digest == digest)?;
        Some(
            "this very file was promoted before, and what is live came after it; remove it, or put another one there"
                .to_owned(),
        )
    }

    pub(super) fn roll_back(&mut self, digest: &str, reason: &str) {
        self.rolled_back.retain(|file| file.digest != digest);
        let (digest, reason) = (digest.to_owned(), reason.to_owned());
        self.rolled_back.push(RolledBack { digest, at: Timestamp::now(), reason });
        let excess = self.rolled_back.len().saturating_sub(MOST_ROLLED_BACK);
        self.rolled_back.drain(..excess);
    }

    /// A version is live no more.
    pub(super) fn leaves(&mut self, previous: Previous) {
        self.previous.retain(|known| *known != previous);
        self.previous.insert(0, previous);
        self.previous.truncate(MOST_PREVIOUS);
    }

    /// Whether the bytes of a version are to be kept.
    pub(super) fn needs(&self, digest: &str) -> bool {
        self.previous.iter().any(|previous| previous.digest == digest)
    }
}
