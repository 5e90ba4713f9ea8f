//! What the host's events say: what became of which kind of message, and which policy said so.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::occurrence::{Fate, Judge, Occurrence};
use super::script::{Kind, ORDERS};
use super::stage::SWAPPED;
use crate::event::{Event, EventKind, Ruling, Subject};
use crate::timestamp::Timestamp;
use crate::verdict::{Action, Maker};

/// Everything that was counted so far.
#[derive(Debug)]
pub(super) struct Tally {
    rows: BTreeMap<Kind, Row>,
    /// The orders' policy when the host started.
    pub(super) first: Arc<Maker>,
    /// When a revision took another one's place, and which it was.
    pub(super) swaps: Vec<(Timestamp, Maker)>,
    /// Attempts that ended.
    pub(super) consumed: u64,
    /// When the other policy was renamed into the folder.
    renamed: Arc<OnceLock<Timestamp>>,
    /// Attempts that ended from then until the policy was live.
    meanwhile: u64,
}

/// How a policy came to judge.
#[derive(Debug, Clone)]
pub(super) struct Swap {
    /// What judges now.
    pub(super) to: Maker,
    /// From the rename to the first moment that it could judge.
    pub(super) took: Duration,
    /// Attempts that ended in this time.
    pub(super) meanwhile: u64,
}

/// What became of the messages of one kind.
#[derive(Debug, Clone, Default)]
pub(super) struct Row {
    /// Messages that the handler processed.
    pub(super) succeeded: u64,
    /// Failures by what became of them and who judged.
    pub(super) failures: BTreeMap<(Judge, Fate), u64>,
}

impl Row {
    /// The failures with such a fate, whoever judged.
    pub(super) fn count(&self, wanted: impl Fn(&Fate) -> bool) -> u64 {
        self.failures.iter().filter(|((_, fate), _)| wanted(fate)).map(|(_, count)| count).sum()
    }

    /// Messages that have come to their end.
    pub(super) fn ended(&self) -> u64 {
        self.succeeded + self.count(Fate::is_end)
    }
}

impl Tally {
    /// Nothing was counted yet, and `first` is the orders' policy. `renamed` will be told when the other one comes.
    pub(super) fn new(first: Arc<Maker>, renamed: Arc<OnceLock<Timestamp>>) -> Self {
        Self { rows: BTreeMap::new(), first, swaps: Vec::new(), consumed: 0, renamed, meanwhile: 0 }
    }

    /// The swap, once it has happened.
    pub(super) fn swap(&self) -> Option<Swap> {
        let ((at, to), renamed) = (self.swaps.first()?, self.renamed.get()?);
        Some(Swap { to: to.clone(), took: at.since(*renamed), meanwhile: self.meanwhile })
    }

    /// The counts of one kind.
    pub(super) fn row(&self, kind: Kind) -> Row {
        self.rows.get(&kind).cloned().unwrap_or_default()
    }

    /// The counts of all kinds together.
    pub(super) fn total(&self) -> Row {
        let mut total = Row::default();
        for row in self.rows.values() {
            total.succeeded += row.succeeded;
            for (key, count) in &row.failures {
                *total.failures.entry(key.clone()).or_default() += count;
            }
        }
        total
    }

    /// Counts an event. Answers with what there is to tell of it, if anything.
    pub(super) fn take(&mut self, event: &Event) -> Option<Occurrence> {
        match &event.kind {
            EventKind::Consumed { subject, error } => {
                self.consumed += 1;
                if self.swaps.is_empty() && self.renamed.get().is_some_and(|renamed| event.at >= *renamed) {
                    self.meanwhile += 1;
                }
                if error.is_none() {
                    self.rows.entry(kind_of(subject)?).or_default().succeeded += 1;
                }
                None
            }
            EventKind::RetryScheduled { subject, ruling, due } => {
                let wait = match ruling.verdict.action {
                    Action::Retry { delay_ms } => Duration::from_millis(delay_ms),
                    _ => due.since(event.at),
                };
                let wait = humantime::format_duration(wait);
                self.failure(subject, ruling, Fate::Retried, format!("retry in {wait}"))
            }
            EventKind::Delayed { subject, ruling, tier, .. } => {
                self.failure(subject, ruling, Fate::Delayed, format!("delayed {tier}"))
            }
            EventKind::DeadLettered { subject, ruling, topic } => {
                self.failure(subject, ruling, Fate::DeadLettered(topic.clone()), format!("to {topic}"))
            }
            EventKind::Requeued { subject, ruling, cooldown_ms } => {
                self.failure(subject, ruling, Fate::Requeued, format!("requeued ({cooldown_ms}ms)"))
            }
            EventKind::Dropped { subject, ruling } => {
                self.failure(subject, ruling, Fate::Dropped, "dropped".to_owned())
            }
            EventKind::PolicySwapped { from: Some(_), to, .. } if *event.route == *ORDERS => {
                self.swaps.push((event.at, to.clone()));
                None
            }
            _ => None,
        }
    }

    fn failure(&mut self, subject: &Subject, ruling: &Ruling, fate: Fate, outcome: String) -> Option<Occurrence> {
        let kind = kind_of(subject)?;
        let judge = self.judge(ruling);
        let count = self.rows.entry(kind).or_default().failures.entry((judge, fate)).or_default();
        *count += 1;
        let is_first = *count == 1;
        Some(Occurrence::new(kind, subject, judge, outcome, ruling, is_first))
    }

    fn judge(&self, ruling: &Ruling) -> Judge {
        match &ruling.maker {
            Some(maker) if ruling.fault.is_none() => {
                let is_standard = maker.policy == SWAPPED && maker.revision == self.first.revision;
                if is_standard { Judge::Standard } else { Judge::ByErrorKind }
            }
            _ => Judge::Fallback,
        }
    }
}

fn kind_of(subject: &Subject) -> Option<Kind> {
    Kind::of_id(subject.id.as_deref()?)
}
