//! One candidate on one route.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use tokio::sync::Notify;

use super::comparison::{Compared, compare};
use super::{CandidateMode, CandidatePlan, Tally, share};
use crate::failure::Failure;
use crate::observer::{CandidateMetrics, Observer};
use crate::policy::engine::Revision;
use crate::timestamp::Timestamp;
use crate::verdict::{Fault, Verdict};

/// A candidate that is tried.
pub(in crate::policy) struct Trial {
    pub(in crate::policy) revision: Arc<Revision>,
    pub(in crate::policy) plan: CandidatePlan,
    pub(in crate::policy) since: Timestamp,
    tally: Mutex<Tally>,
    metrics: CandidateMetrics,
    /// Neither promoted nor rolled back by itself.
    held: AtomicBool,
    /// It is asked no more.
    over: AtomicBool,
    /// It should be promoted and cannot be at the moment.
    put_off: AtomicBool,
    /// Told when a trial should come to an end.
    due: Arc<Notify>,
}

/// What a trial should come to by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::policy) enum Turn {
    /// It goes live, for this reason.
    Promote(String),
    /// It is taken back, for this reason.
    RollBack(String),
}

impl Trial {
    pub(in crate::policy) fn new(
        route: &Arc<str>,
        revision: Arc<Revision>,
        plan: CandidatePlan,
        observer: &Observer,
        due: Arc<Notify>,
    ) -> Self {
        Self {
            revision,
            metrics: observer.metrics().candidate(route, plan.mode.name()),
            plan,
            since: Timestamp::now(),
            tally: Mutex::default(),
            held: AtomicBool::new(false),
            over: AtomicBool::new(false),
            put_off: AtomicBool::new(false),
            due,
        }
    }

    /// Whether this failure is the candidate's to judge.
    pub(in crate::policy) fn takes(&self, failure: &Failure) -> bool {
        self.plan.mode == CandidateMode::Canary
            && !self.is_over()
            && share::takes(self.plan.share, self.revision.file_digest(), failure)
    }

    pub(in crate::policy) fn is_shadow(&self) -> bool {
        self.plan.mode == CandidateMode::Shadow && !self.is_over()
    }

    /// Counts an answer. A canary that has gone too far is asked no more from then on, before anybody has looked.
    pub(in crate::policy) fn count(
        &self,
        live: &Result<Verdict, Fault>,
        candidate: &Result<Verdict, Fault>,
        took: Duration,
    ) {
        let compared = compare(live, candidate);
        let mut tally = self.tally();
        tally.count(compared, candidate);
        let turn = self.turn_after(&tally);
        drop(tally);
        self.metrics.decided(compared.name(), took);
        if let Compared::Changed(change) = compared {
            self.metrics.changed(change.from, change.to);
        }
        match turn {
            Some(Turn::RollBack(_)) => {
                self.end();
                self.due.notify_one();
            }
            Some(Turn::Promote(_)) => self.due.notify_one(),
            None => {}
        }
    }

    /// A shadow was not asked, since it was behind.
    pub(in crate::policy) fn skip(&self) {
        self.tally().skipped += 1;
        self.metrics.skipped();
    }

    /// What the trial should come to now.
    pub(in crate::policy) fn turn(&self) -> Option<Turn> {
        self.turn_after(&self.tally())
    }

    fn turn_after(&self, tally: &Tally) -> Option<Turn> {
        let CandidatePlan { mode, promote_after, max_faults, max_changed, min_decisions, .. } = self.plan;
        // What has gone too far already is taken back, even where somebody holds it right then.
        if mode == CandidateMode::Shadow || self.is_held() && !self.is_over() {
            return None;
        }
        let Tally { decisions, changed, faults, .. } = *tally;
        if faults > max_faults {
            let last = tally.last_fault.as_deref().unwrap_or_default();
            let reason = format!("{faults} of {decisions} decisions were faults, and {max_faults} are allowed: {last}");
            return Some(Turn::RollBack(reason));
        }
        if decisions >= min_decisions.max(1) && changed as f64 > max_changed * decisions as f64 {
            return Some(Turn::RollBack(format!(
                "{changed} of {decisions} verdicts differ from the live policy's, and {} are allowed",
                percent(max_changed)
            )));
        }
        let enough = promote_after.is_some_and(|enough| decisions >= enough.max(1));
        (enough && !self.put_off.load(Ordering::Acquire)).then(|| {
            Turn::Promote(format!("{decisions} decisions within bounds: {faults} faults, {changed} changed verdicts"))
        })
    }

    /// It is not promoted by itself until it may be tried again.
    pub(in crate::policy) fn put_off_promotion(&self) {
        self.put_off.store(true, Ordering::Release);
    }

    pub(in crate::policy) fn try_promotion_again(&self) {
        if self.put_off.swap(false, Ordering::AcqRel) {
            self.due.notify_one();
        }
    }

    pub(in crate::policy) fn end(&self) {
        self.over.store(true, Ordering::Release);
    }

    pub(in crate::policy) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    pub(in crate::policy) fn hold(&self, held: bool) {
        self.held.store(held, Ordering::Release);
        if !held {
            self.due.notify_one();
        }
    }

    pub(in crate::policy) fn is_held(&self) -> bool {
        self.held.load(Ordering::Acquire)
    }

    pub(in crate::policy) fn so_far(&self) -> Tally {
        self.tally().clone()
    }

    fn tally(&self) -> MutexGuard<'_, Tally> {
        // Numbers alone: nothing in here can be left half-done by a panic.
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A share as people write it.
pub(in crate::policy) fn percent(share: f64) -> String {
    format!("{}%", (share * 10_000.0).round() / 100.0)
}

impl fmt::Debug for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trial").field("revision", &self.revision).field("plan", &self.plan).finish_non_exhaustive()
    }
}

/// The candidate of a route, where it has one.
pub(in crate::policy) type CandidateSlot = ArcSwapOption<Trial>;
