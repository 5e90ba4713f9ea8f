//! What a route's driver asks for decisions.

use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::failure::Failure;
use crate::journal::{self, Ticket};
use crate::observer::Observer;
use crate::policy::candidate::{CandidateSlot, Shadows};
use crate::policy::decision_threads::DecisionThreads;
use crate::policy::engine::Revision;
use crate::verdict::{Decision, Fault, FaultKind};

/// The revision that judges on a route: one pointer, swapped whole.
pub(super) struct Slot {
    pub(super) route: Arc<str>,
    live: ArcSwapOption<Revision>,
    /// What is tried beside it, or in its place.
    pub(super) candidate: CandidateSlot,
    ready: watch::Sender<bool>,
}

impl Slot {
    pub(super) fn new(route: &str) -> Arc<Self> {
        Arc::new(Self {
            route: route.into(),
            live: ArcSwapOption::empty(),
            candidate: CandidateSlot::empty(),
            ready: watch::Sender::new(false),
        })
    }

    pub(super) fn live(&self) -> Option<Arc<Revision>> {
        self.live.load_full()
    }

    /// Later decisions are `revision`'s; gives the one before.
    pub(super) fn swap(&self, revision: Arc<Revision>) -> Option<Arc<Revision>> {
        let before = self.live.swap(Some(revision));
        self.ready.send_replace(true);
        before
    }
}

/// One route's policy, whichever revision is live.
#[derive(Clone)]
pub struct PolicyHandle {
    slot: Arc<Slot>,
    threads: Arc<DecisionThreads>,
    shadows: Arc<Shadows>,
    observer: Observer,
}

impl PolicyHandle {
    pub(super) fn new(
        slot: Arc<Slot>,
        threads: Arc<DecisionThreads>,
        shadows: Arc<Shadows>,
        observer: Observer,
    ) -> Self {
        Self { slot, threads, shadows, observer }
    }

    pub(super) fn slot(&self) -> &Arc<Slot> {
        &self.slot
    }

    /// Asks the revision that is live now; a swap while it decides changes nothing for this failure. Without a
    /// revision the fault is [`FaultKind::NoPolicy`].
    ///
    /// Where the route has a candidate, a shadow is asked afterwards, with nobody waiting for it. A canary judges its share of the
    /// messages; where it has a fault, the live revision judges.
    pub async fn decide(&self, failure: Arc<Failure>) -> Decision {
        self.decide_recorded(failure, None).await
    }

    /// The same; what a candidate said is recorded under `ticket`.
    pub async fn decide_recorded(&self, failure: Arc<Failure>, ticket: Option<Ticket>) -> Decision {
        // A guard would be held over the waits below, and a thread has few of them.
        let Some(trial) = self.slot.candidate.load_full() else { return self.decide_live(failure).await };
        let record = || self.observer.journal().cloned().zip(ticket);
        if !trial.takes(&failure) {
            let decision = self.decide_live(Arc::clone(&failure)).await;
            if trial.is_shadow() && decision.maker.is_some() {
                self.shadows.ask(&trial, &failure, &decision.result, record());
            }
            return decision;
        }
        let begin = Instant::now();
        let answer = self.threads.decide(Arc::clone(&trial.revision), Arc::clone(&failure)).await;
        let took = begin.elapsed();
        // The live policy is asked as well: what would have become of this very failure is the fairest comparison.
        let live = self.decide_live(failure).await;
        trial.count(&live.result, &answer, took);
        let maker = trial.revision.maker();
        if let Some((journal, ticket)) = record() {
            let (mode, maker) = (journal::CandidateMode::Canary, maker.as_ref().clone());
            journal.candidate(ticket, journal::Candidate { mode, maker, answer: answer.clone() });
        }
        match answer {
            Ok(verdict) => Decision { maker: Some(Arc::clone(maker)), result: Ok(verdict) },
            Err(fault) => {
                tracing::warn!(route = %self.slot.route, candidate = %maker, %fault, "the canary failed, the live policy judged");
                live
            }
        }
    }

    async fn decide_live(&self, failure: Arc<Failure>) -> Decision {
        let Some(revision) = self.slot.live() else {
            let text = format!("route {} has no policy yet; see its last_error in /status", self.slot.route);
            return Decision { maker: None, result: Err(Fault::new(FaultKind::NoPolicy, text)) };
        };
        let maker = Some(Arc::clone(revision.maker()));
        Decision { maker, result: self.threads.decide(revision, failure).await }
    }

    /// Waits until the route has a revision. One that it has once, it never loses.
    pub async fn ready(&self) {
        let mut ready = self.slot.ready.subscribe();
        ready.wait_for(|ready| *ready).await.expect("the sender lives in the slot, which this handle holds");
    }

    /// Whether the route has a revision.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        *self.slot.ready.borrow()
    }

    /// The revision that would decide now.
    #[must_use]
    pub fn live(&self) -> Option<Arc<Revision>> {
        self.slot.live()
    }
}

impl fmt::Debug for PolicyHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let live = self.live().map(|revision| revision.maker().to_string());
        f.debug_struct("PolicyHandle").field("route", &self.slot.route).field("live", &live).finish()
    }
}
