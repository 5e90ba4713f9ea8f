//! What would change.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::time::Duration;

use humantime::format_duration;
use serde::Serialize;

use super::follow::{Followed, Link, follow};
use crate::journal::Entry;
use crate::verdict::{Action, Fault, Verdict};

/// Entries that are named for each kind of change.
const EXAMPLES: usize = 3;

/// The upper ends of what delays are counted in.
const DELAYS: [Duration; 8] = [
    Duration::from_millis(100),
    Duration::from_secs(1),
    Duration::from_secs(10),
    Duration::from_secs(60),
    Duration::from_secs(10 * 60),
    Duration::from_secs(60 * 60),
    Duration::from_secs(24 * 60 * 60),
    Duration::MAX,
];

/// What came of a backtest.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Report {
    /// Failures that were looked at.
    pub failures: u64,
    /// Those of them that were judged.
    pub judged: u64,
    /// What was not kept and is read, with the failures that lack it.
    pub gaps: BTreeMap<String, u64>,
    /// Those that get the same verdict: action, and delay, tier or label.
    pub same: u64,
    /// Those that get another.
    pub changed: u64,
    /// The changes by error kind, the most frequent first.
    pub groups: Vec<Group>,
    /// Verdicts by action, and faults by kind.
    pub actions: BTreeMap<String, Count>,
    /// Retries and delays by how long they are.
    pub delays: BTreeMap<usize, Count>,
    /// Attempts that would follow, an hour each, as hours since 1970: retries, delays and requeues.
    pub load: BTreeMap<u64, Count>,
    /// Whole messages, as far as the record tells.
    pub messages: Followed,
}

/// How many before, and how many after.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Count {
    /// By what is compared with.
    pub before: u64,
    /// By the candidate.
    pub after: u64,
}

/// One kind of change.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Change {
    /// The kind of the errors.
    pub error_kind: String,
    /// What was said before, such as `retry, at most 10s`.
    pub from: String,
    /// What would be said.
    pub to: String,
}

/// Failures with the same change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Group {
    /// Which change.
    #[serde(flatten)]
    pub change: Change,
    /// How many.
    pub count: u64,
    /// The first few, by their numbers in the journal.
    pub examples: Vec<u64>,
}

impl Report {
    /// What the delays of one of [`Report::delays`] are called.
    #[must_use]
    pub fn delay_name(index: usize) -> String {
        match DELAYS.get(index) {
            Some(&Duration::MAX) | None => "longer".to_owned(),
            Some(most) => format!("at most {}", format_duration(*most)),
        }
    }
}

/// What was said of one failure.
pub(super) struct Answers {
    pub(super) before: Result<Verdict, Fault>,
    pub(super) after: Result<Verdict, Fault>,
}

/// What one thread has counted.
#[derive(Debug, Default)]
pub(super) struct Part {
    report: Report,
    groups: BTreeMap<Change, (u64, Vec<u64>)>,
    links: Vec<Link>,
    hasher: BuildHasherDefault<DefaultHasher>,
}

impl Part {
    /// Another failure is looked at.
    pub(super) fn looks(&mut self) {
        self.report.failures += 1;
    }

    pub(super) fn gap(&mut self, gap: String) {
        *self.report.gaps.entry(gap).or_default() += 1;
    }

    pub(super) fn count(&mut self, entry: &Entry, answers: &Answers) {
        let Self { report, groups, links, hasher } = self;
        report.judged += 1;
        let (before, after) = (&answers.before, &answers.after);
        let is_same = match (before, after) {
            (Ok(before), Ok(after)) => before.action == after.action,
            (Err(before), Err(after)) => before.kind == after.kind,
            _ => false,
        };
        let hour = entry.failure.now.0 / 3_600_000;
        for (answer, side) in [(before, Side::Before), (after, Side::After)] {
            side.add(report.actions.entry(action_name(answer)).or_default());
            if let Some(delay) = answer.as_ref().ok().and_then(delay) {
                side.add(report.delays.entry(delay_index(delay)).or_default());
            }
            if goes_on(answer) {
                side.add(report.load.entry(hour).or_default());
            }
        }
        if is_same {
            report.same += 1;
        } else {
            report.changed += 1;
            let change =
                Change { error_kind: entry.failure.error.kind.clone(), from: described(before), to: described(after) };
            let (count, examples) = groups.entry(change).or_default();
            *count += 1;
            if examples.len() < EXAMPLES {
                examples.push(entry.id);
            }
        }
        if let Some(id) = &entry.failure.message.id {
            let message = hasher.hash_one((&entry.route, id));
            links.push(Link { message, entry: entry.id, is_same, before: goes_on(before), after: goes_on(after) });
        }
    }

    pub(super) fn add(&mut self, other: Self) {
        let Self { report, groups, links, .. } = other;
        self.report.failures += report.failures;
        self.report.judged += report.judged;
        self.report.same += report.same;
        self.report.changed += report.changed;
        for (gap, count) in report.gaps {
            *self.report.gaps.entry(gap).or_default() += count;
        }
        merge(&mut self.report.actions, report.actions);
        merge(&mut self.report.delays, report.delays);
        merge(&mut self.report.load, report.load);
        for (change, (count, examples)) in groups {
            let (all, known) = self.groups.entry(change).or_default();
            *all += count;
            known.extend(examples);
            known.sort_unstable();
            known.truncate(EXAMPLES);
        }
        self.links.extend(links);
    }

    pub(super) fn report(self) -> Report {
        let Self { mut report, groups, links, .. } = self;
        let group = |(change, (count, examples))| Group { change, count, examples };
        report.groups = groups.into_iter().map(group).collect();
        report.groups.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.change.cmp(&b.change)));
        report.messages = follow(links);
        report
    }
}

#[derive(Clone, Copy)]
enum Side {
    Before,
    After,
}

impl Side {
    fn add(self, count: &mut Count) {
        match self {
            Self::Before => count.before += 1,
            Self::After => count.after += 1,
        }
    }
}

fn merge<K: Ord>(all: &mut BTreeMap<K, Count>, more: BTreeMap<K, Count>) {
    for (key, Count { before, after }) in more {
        let count = all.entry(key).or_default();
        count.before += before;
        count.after += after;
    }
}

fn action_name(answer: &Result<Verdict, Fault>) -> String {
    match answer {
        Ok(verdict) => verdict.action.name().to_owned(),
        Err(fault) => format!("fault: {}", fault.kind),
    }
}

/// Delays are taken together by their order of magnitude: jitter would make a change of each.
fn described(answer: &Result<Verdict, Fault>) -> String {
    let Ok(verdict) = answer else { return action_name(answer) };
    match &verdict.action {
        Action::DelayTo { tier } => format!("delay-to {tier}"),
        Action::DeadLetter { label: Some(label) } => format!("dead-letter {label}"),
        action => match delay(verdict) {
            Some(delay) => format!("{}, {}", action.name(), Report::delay_name(delay_index(delay))),
            None => action.name().to_owned(),
        },
    }
}

fn delay(verdict: &Verdict) -> Option<Duration> {
    match verdict.action {
        Action::Retry { delay_ms } | Action::Delay { delay_ms } => Some(Duration::from_millis(delay_ms)),
        Action::Requeue { cooldown_ms } => cooldown_ms.map(Duration::from_millis),
        Action::DelayTo { .. } | Action::DeadLetter { .. } | Action::Drop => None,
    }
}

fn delay_index(delay: Duration) -> usize {
    DELAYS.iter().position(|most| delay <= *most).unwrap_or(DELAYS.len() - 1)
}

/// Whether the message is tried again. After a fault the fallback judges, which is not played here.
fn goes_on(answer: &Result<Verdict, Fault>) -> bool {
    let Ok(verdict) = answer else { return false };
    matches!(
        verdict.action,
        Action::Retry { .. } | Action::Delay { .. } | Action::DelayTo { .. } | Action::Requeue { .. }
    )
}
