//! What happened to the policies of a route.

use serde::{Deserialize, Serialize};

use crate::timestamp::Timestamp;
use crate::verdict::Maker;

/// One step in the history of a route's policies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// When.
    pub at: Timestamp,
    /// The route's name.
    pub route: String,
    /// What happened.
    pub kind: StepKind,
    /// The revision that it happened to; absent where it never became one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maker: Option<Maker>,
    /// The live revision that it took the place of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced: Option<Maker>,
    /// SHA-256 of the policy's file, hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The file's size in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// The key that its signature was made with, where one was demanded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed_by: Option<String>,
    /// Decisions of the revision so far, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decisions: Option<u64>,
    /// Those of them that were faults.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub faults: Option<u64>,
    /// Why, for a person.
    pub reason: String,
}

/// The kinds of steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepKind {
    /// It judges the route from now on.
    WentLive,
    /// It judges the route no more: another took its place, or the host ended in order.
    Left,
    /// It was refused when it was loaded.
    Rejected,
    /// A candidate's file is gone, or another one took its place.
    Withdrawn,
    /// It is asked beside the live policy, or for a share of the messages.
    CandidateBegan,
    /// A candidate became the live policy.
    Promoted,
    /// Somebody stopped a candidate from being promoted or rolled back by itself.
    Held,
    /// A held candidate goes on.
    Resumed,
    /// A candidate, or a live policy, was taken back.
    RolledBack,
}

impl StepKind {
    /// The name, as in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::WentLive => "went-live",
            Self::Left => "left",
            Self::Rejected => "rejected",
            Self::Withdrawn => "withdrawn",
            Self::CandidateBegan => "candidate-began",
            Self::Promoted => "promoted",
            Self::Held => "held",
            Self::Resumed => "resumed",
            Self::RolledBack => "rolled-back",
        }
    }
}
