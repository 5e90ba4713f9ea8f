//! What the demo found out.

use std::time::Duration;

use serde::Serialize;

use super::occurrence::Fate;
use super::show::Show;
use super::tally::Tally;

/// The end of a demo.
#[derive(Debug)]
pub(super) struct Report {
    pub(super) show: Show,
    /// Messages that the broker confirmed to the sender.
    pub(super) sent: u32,
    pub(super) tally: Tally,
    /// Ids that were sent and are nowhere.
    pub(super) lost: Vec<String>,
    pub(super) took: Duration,
    /// The user did not wait for the end.
    pub(super) stopped_early: bool,
    /// What is wrong with a policy, if anything is.
    pub(super) policy_problem: Option<String>,
}

/// The counts, as `--json` prints them. Each attempt is consumed once, and either succeeds or has one of the outcomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct Counts {
    pub(super) consumed: u64,
    pub(super) succeeded: u64,
    pub(super) retried: u64,
    pub(super) delayed: u64,
    pub(super) dead_lettered: u64,
    pub(super) requeued: u64,
    pub(super) dropped: u64,
    pub(super) lost: usize,
    pub(super) swaps: usize,
}

impl Report {
    pub(super) fn counts(&self) -> Counts {
        let total = self.tally.total();
        Counts {
            consumed: self.tally.consumed,
            succeeded: total.succeeded,
            retried: total.count(|fate| *fate == Fate::Retried),
            delayed: total.count(|fate| *fate == Fate::Delayed),
            dead_lettered: total.count(Fate::is_dead_lettered),
            requeued: total.count(|fate| *fate == Fate::Requeued),
            dropped: total.count(|fate| *fate == Fate::Dropped),
            lost: self.lost.len(),
            swaps: self.tally.swaps.len(),
        }
    }

    /// Nothing was lost, and, unless the user did not wait for it, the policy was swapped.
    pub(super) fn is_good(&self) -> bool {
        self.lost.is_empty() && (self.stopped_early || !self.tally.swaps.is_empty())
    }
}
