//! Who judges on which route, and whom it is compared with.

use std::collections::BTreeMap;
use std::iter;
use std::sync::Arc;

use super::part::{Part, Seen};
use super::play::play;
use crate::delivery::Rules;
use crate::failure::Failure;
use crate::journal::{Entry, OutcomeKind};
use crate::policy::engine::Revision;
use crate::verdict::{Fault, FaultKind, Verdict};

/// What is asked of each failure.
pub struct Question {
    /// Who judges, by route. Failures of other routes are not looked at. One that is of no known route is judged where
    /// there is but one.
    pub routes: BTreeMap<String, Judges>,
    /// Who judges the failures of every other route.
    pub elsewhere: Option<Judges>,
    /// Failures of which the policies read what was not kept are judged all the same.
    pub allow_gaps: bool,
    /// Whole messages are followed. Of no use where some of their failures are left out.
    pub follows: bool,
}

/// Who judges on a route.
pub struct Judges {
    /// The policy that is tried.
    pub candidate: Arc<Revision>,
    /// What it is compared with.
    pub against: Against,
    /// What the host goes by on the route.
    pub rules: Rules,
    /// The route calls a handler; else its messages failed elsewhere.
    pub has_handler: bool,
}

/// What a candidate is compared with.
pub enum Against {
    /// What was said then.
    Recorded,
    /// Another policy, or the same in another revision.
    Policy(Arc<Revision>),
}

impl Question {
    pub(super) fn judges(&self, route: &str) -> Option<&Judges> {
        let only = || self.routes.values().next().filter(|_| route.is_empty() && self.routes.len() == 1);
        self.routes.get(route).or_else(only).or(self.elsewhere.as_ref())
    }

    pub(super) fn ask(
        &self,
        judges: &Judges,
        journal: usize,
        entry: &Entry,
        outcome: Option<OutcomeKind>,
        part: &mut Part,
    ) {
        let seen = Seen { journal, entry, outcome };
        let failure = &entry.failure;
        let gaps = judges.gaps(failure, &entry.kept);
        let is_incomplete = !gaps.is_empty();
        part.coverage.count(gaps);
        if is_incomplete && !self.allow_gaps {
            part.leave_out(&seen);
            return;
        }
        let other = match &judges.against {
            Against::Recorded => None,
            Against::Policy(revision) => Some(decide(revision, failure)),
        };
        let before = other.as_ref().unwrap_or(&entry.answer);
        let after = decide(&judges.candidate, failure);
        let played = [play(judges, failure, before), play(judges, failure, &after)];
        part.count(&seen, before, &after, &played);
        if self.follows {
            // Whoever it is compared with: what became of the message is what the record tells.
            let recorded = other.is_some().then(|| play(judges, failure, &entry.answer));
            part.link(&seen, &after, recorded.as_ref().unwrap_or(&played[0]), &played[1]);
        }
    }
}

impl Judges {
    pub(super) fn revisions(&self) -> impl Iterator<Item = &Arc<Revision>> {
        let other = match &self.against {
            Against::Recorded => None,
            Against::Policy(revision) => Some(revision),
        };
        iter::once(&self.candidate).chain(other)
    }
}

/// A deadline may be missed because the machine was busy: only who misses it twice has.
fn decide(revision: &Revision, failure: &Failure) -> Result<Verdict, Fault> {
    match revision.decide(failure) {
        Err(fault) if fault.kind == FaultKind::Timeout => revision.decide(failure),
        answer => answer,
    }
}
