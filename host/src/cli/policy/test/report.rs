//! What came of the cases.

use std::time::Duration;

use crate::policy::cases::CaseResult;
use crate::policy::engine::CaseRun;

/// One test of a policy.
pub(super) struct Report {
    /// The policy's file, as it was named.
    pub(super) file: String,
    /// The policy's name.
    pub(super) name: String,
    /// The cases that were judged; at least one.
    pub(super) groups: Vec<Group>,
    /// How many were not, because of their names.
    pub(super) left_out: usize,
    /// What the user may not have meant.
    pub(super) note: Option<String>,
    /// The policy's compilation included.
    pub(super) elapsed: Duration,
}

/// Cases from one place.
pub(super) struct Group {
    /// The file that they are in.
    pub(super) file: String,
    /// That file is the policy's own.
    pub(super) carried: bool,
    pub(super) outcomes: Vec<Outcome>,
}

/// A case by its name.
pub(super) struct Outcome {
    pub(super) name: String,
    pub(super) run: CaseRun,
}

impl Report {
    pub(super) fn passed(&self) -> usize {
        self.count(Outcome::passed)
    }

    pub(super) fn failed(&self) -> usize {
        self.count(|outcome| !outcome.passed())
    }

    fn count(&self, which: impl Fn(&Outcome) -> bool) -> usize {
        self.groups.iter().flat_map(|group| &group.outcomes).filter(|outcome| which(outcome)).count()
    }
}

impl Group {
    pub(super) fn title(&self) -> String {
        if self.carried { format!("{}, the cases that it carries", self.file) } else { self.file.clone() }
    }
}

impl Outcome {
    pub(super) const fn passed(&self) -> bool {
        matches!(self.run.result, CaseResult::Passed(_))
    }
}
