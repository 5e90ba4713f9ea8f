//! Who judges, and whom it is compared with.

use std::sync::Arc;

use super::report::{Answers, Part};
use crate::failure::Failure;
use crate::journal::Entry;
use crate::policy::engine::Revision;
use crate::verdict::{Fault, Verdict};

/// What is asked of each failure.
pub struct Question {
    /// The policy that is tried.
    pub candidate: Arc<Revision>,
    /// What it is compared with.
    pub against: Against,
    /// Failures of which the policies read what was not kept are judged all the same.
    pub allow_gaps: bool,
}

/// What a candidate is compared with.
pub enum Against {
    /// What was said then.
    Recorded,
    /// Another policy, or the same in another revision.
    Policy(Arc<Revision>),
}

impl Question {
    pub(super) fn ask(&self, entry: &Entry, part: &mut Part) {
        part.looks();
        let other = match &self.against {
            Against::Recorded => None,
            Against::Policy(revision) => Some(revision),
        };
        let gap = std::iter::once(&self.candidate)
            .chain(other)
            .find_map(|revision| super::gap(revision.needs(), &entry.failure, &entry.kept));
        if let Some(gap) = gap {
            part.gap(gap);
            if !self.allow_gaps {
                return;
            }
        }
        let before = other.map_or_else(|| entry.answer.clone(), |revision| decide(revision, &entry.failure));
        let after = decide(&self.candidate, &entry.failure);
        part.count(entry, &Answers { before, after });
    }
}

fn decide(revision: &Revision, failure: &Failure) -> Result<Verdict, Fault> {
    revision.decide(failure)
}
