//! Which policy judges on which route, as `/status` shows it.

use std::path::PathBuf;
use std::sync::Arc;

use serde::Serialize;

use super::candidate::{CandidatePlan, Tally, Trial};
use super::engine::{Description, Start};
use super::trust::{FileDigest, KeyId, Trust};
use crate::timestamp::{Timestamp, as_text};

/// All routes' policies and the folder that they come from.
#[derive(Debug, Clone, Default, Serialize)]
pub struct PoliciesStatus {
    /// The policies folder; absent where none is configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<FolderStatus>,
    /// What is demanded of files; absent where nothing is.
    #[serde(skip_serializing_if = "Trust::is_open")]
    pub trust: Trust,
    /// One entry a route, in the order of the configuration.
    pub routes: Vec<RoutePolicyStatus>,
    /// Files in the folder that no route names.
    pub unused: Vec<UnusedPolicy>,
    /// Names of candidates: `NAME` for a file `NAME.next.wasm`, which no route judges by.
    pub candidates: Vec<String>,
}

/// The policies folder.
#[derive(Debug, Clone, Default, Serialize)]
pub struct FolderStatus {
    /// As configured.
    pub path: PathBuf,
    /// How often it was looked through since the start.
    pub scans: u64,
    /// Why it cannot be read, or why changes are only noticed by the slow rescan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// The policy of one route.
#[derive(Debug, Clone, Serialize)]
pub struct RoutePolicyStatus {
    /// The route's name.
    pub route: String,
    /// The policy that judges, or that should where none does: a file's name without `.wasm`, or `standard`.
    pub policy: String,
    /// The one file that the route takes; absent where the file can be swapped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy_digest: Option<FileDigest>,
    /// What judges now; absent where no policy could be loaded yet.
    #[serde(flatten)]
    pub live: Option<LiveStatus>,
    /// What is tried in its place, or beside it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub candidate: Option<CandidateStatus>,
    /// Why there is a candidate's file and no candidate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub candidate_error: Option<LastError>,
    /// Why the configured policy and settings are not, or not wholly, what judges.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<LastError>,
}

/// A revision that judges.
#[derive(Debug, Clone, Serialize)]
pub struct LiveStatus {
    /// The revision, as in headers and logs.
    pub revision: String,
    /// SHA-256 of the policy's bytes.
    pub file_digest: String,
    /// When it went live.
    #[serde(serialize_with = "as_text")]
    pub live_since: Timestamp,
    /// Where its bytes came from.
    pub source: Source,
    /// The key that signed it; absent where no signature was demanded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signed_by: Option<KeyId>,
    /// How a decision gets a configured instance.
    pub start: Start,
}

/// A candidate that is tried.
#[derive(Debug, Clone, Serialize)]
pub struct CandidateStatus {
    /// The revision, as in headers and logs.
    pub revision: String,
    /// SHA-256 of the policy's bytes.
    pub file_digest: String,
    /// Since when it is asked.
    #[serde(serialize_with = "as_text")]
    pub since: Timestamp,
    /// How it is tried.
    pub plan: CandidatePlan,
    /// It is neither promoted nor rolled back by itself.
    pub held: bool,
    /// What has come of it so far.
    pub tally: Tally,
    #[serde(skip)]
    pub(super) trial: Arc<Trial>,
}

impl CandidateStatus {
    pub(super) fn new(trial: &Arc<Trial>) -> Self {
        Self {
            revision: trial.revision.maker().revision.clone(),
            file_digest: trial.revision.file_digest().to_owned(),
            since: trial.since,
            plan: trial.plan.clone(),
            held: trial.is_held(),
            tally: trial.so_far(),
            trial: Arc::clone(trial),
        }
    }

    /// What has come of it by now.
    pub(super) fn refresh(&mut self) {
        (self.held, self.tally) = (self.trial.is_held(), self.trial.so_far());
    }
}

/// Where a policy's bytes came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// A file in the policies folder.
    Folder,
    /// The program itself.
    Embedded,
    /// The state folder, since what is configured could not be used.
    LastGood,
    /// A candidate that was promoted; the file in the folder is the one that it was promoted past.
    Promoted,
    /// The state folder, since a later version was taken back.
    Previous,
}

impl Source {
    /// In words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Folder => "from the policies folder",
            Self::Embedded => "part of the program",
            Self::LastGood => "the last good one, from the state folder",
            Self::Promoted => "a candidate that was promoted",
            Self::Previous => "an earlier version, from the state folder",
        }
    }
}

/// Something that stands in the way of a policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LastError {
    /// When it was first seen.
    #[serde(serialize_with = "as_text")]
    pub at: Timestamp,
    /// What, where and the cure.
    pub text: String,
}

/// A file in the policies folder that no route names.
#[derive(Debug, Clone, Serialize)]
pub struct UnusedPolicy {
    /// The file's name, without `.wasm`.
    pub policy: String,
    /// SHA-256 of its bytes; absent where it could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_digest: Option<String>,
    /// What it says of itself; absent where it is no valid policy, or takes no settings that are empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<Description>,
    /// Why no route could use it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
