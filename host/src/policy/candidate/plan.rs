//! How a candidate is tried.

use serde::Serialize;

/// What a candidate is for, and what ends its trial.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CandidatePlan {
    /// The file in the policies folder, without `.wasm`; `None` for `NAME.next.wasm` beside the route's `NAME.wasm`.
    pub policy: Option<String>,
    /// Beside the live policy, or in its place.
    pub mode: CandidateMode,
    /// The share of messages that a canary judges, from 0 to 1.
    pub share: f64,
    /// Decisions of a canary after which it goes live by itself; `None`: never by itself.
    pub promote_after: Option<u64>,
    /// Faults of a canary that are put up with; one more rolls it back.
    pub max_faults: u64,
    /// The share of a canary's decisions that may differ from the live policy's, from 0 to 1; beyond it is rolled back.
    pub max_changed: f64,
    /// Decisions before which differences are not judged by.
    pub min_decisions: u64,
}

/// How a candidate is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CandidateMode {
    /// Beside the live policy, for comparison alone.
    Shadow,
    /// In the live policy's place, for a share of the messages.
    Canary,
}

impl CandidateMode {
    /// The name, as in the configuration, JSON and metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Shadow => "shadow",
            Self::Canary => "canary",
        }
    }
}

impl Default for CandidatePlan {
    /// A shadow: what is only put into the folder changes nothing.
    fn default() -> Self {
        Self {
            policy: None,
            mode: CandidateMode::Shadow,
            share: 0.05,
            promote_after: None,
            max_faults: 0,
            max_changed: 1.0,
            min_decisions: 100,
        }
    }
}
