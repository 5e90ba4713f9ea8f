//! What a candidate said, beside what the live policy said of the same failures.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::verdict::{Fault, Verdict};

/// From which action to which; the rest of the verdict may differ where they are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Change {
    /// What the live policy said: an action's name, or `fault`.
    pub from: &'static str,
    /// What the candidate said.
    pub to: &'static str,
}

/// What has come of a trial so far.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Tally {
    /// Failures that the candidate was asked about.
    pub decisions: u64,
    /// Of these, those that it judged as the live policy does: the same action with the same delay, tier or label.
    pub same: u64,
    /// Those that it judged otherwise.
    pub changed: u64,
    /// Those that it gave no verdict on.
    pub faults: u64,
    /// Failures that a shadow was not asked about, since it was behind.
    pub skipped: u64,
    /// The differences, by action.
    #[serde(serialize_with = "as_list")]
    pub changes: BTreeMap<Change, u64>,
    /// The last fault, for a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_fault: Option<String>,
}

/// How one answer compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compared {
    Same,
    Changed(Change),
    Fault,
}

impl Compared {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Changed(_) => "changed",
            Self::Fault => "fault",
        }
    }
}

/// Reasons, headers and pauses are left out: they change no message's way.
pub(super) fn compare(live: &Result<Verdict, Fault>, candidate: &Result<Verdict, Fault>) -> Compared {
    match (live, candidate) {
        (_, Err(_)) => Compared::Fault,
        (Ok(live), Ok(candidate)) if live.action == candidate.action => Compared::Same,
        (live, Ok(candidate)) => {
            let from = live.as_ref().map_or("fault", |live| live.action.name());
            Compared::Changed(Change { from, to: candidate.action.name() })
        }
    }
}

impl Tally {
    pub(super) fn count(&mut self, compared: Compared, candidate: &Result<Verdict, Fault>) {
        self.decisions += 1;
        match compared {
            Compared::Same => self.same += 1,
            Compared::Changed(change) => {
                self.changed += 1;
                *self.changes.entry(change).or_default() += 1;
            }
            Compared::Fault => self.faults += 1,
        }
        if let Err(fault) = candidate {
            self.last_fault = Some(fault.to_string());
        }
    }
}

fn as_list<S: serde::Serializer>(changes: &BTreeMap<Change, u64>, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Row {
        #[serde(flatten)]
        change: Change,
        count: u64,
    }
    serializer.collect_seq(changes.iter().map(|(change, count)| Row { change: *change, count: *count }))
}
