//! Counts of failures, by what they have in common and over time.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use crate::journal::{Count, OutcomeKind};
use crate::timestamp::{Timestamp, millis};

/// Columns of a chart whose bucket nobody chose.
const COLUMNS: u64 = 60;
/// Columns of any chart: more cannot be told apart.
const MOST_COLUMNS: u64 = 2000;
const SECOND: u64 = 1000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;
const NICE: [u64; 14] = [
    SECOND,
    5 * SECOND,
    15 * SECOND,
    MINUTE,
    5 * MINUTE,
    15 * MINUTE,
    30 * MINUTE,
    HOUR,
    3 * HOUR,
    6 * HOUR,
    12 * HOUR,
    DAY,
    7 * DAY,
    30 * DAY,
];

/// What stands for an outcome that is not known, and for the policy of a route that has none.
const UNKNOWN: &str = "not known";
const NONE: &str = "no policy";

/// All that `stats` says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(in crate::cli::journal) struct Tally {
    pub(super) failures: u64,
    pub(super) faults: u64,
    pub(super) first: Timestamp,
    pub(super) last: Timestamp,
    pub(super) bucket_ms: u64,
    pub(super) routes: BTreeMap<String, u64>,
    pub(super) error_kinds: BTreeMap<String, u64>,
    pub(super) policies: BTreeMap<String, u64>,
    pub(super) outcomes: BTreeMap<String, u64>,
    /// Each outcome's counts, one for each bucket from the first on.
    pub(super) over_time: BTreeMap<&'static str, Vec<u64>>,
}

impl Tally {
    pub(super) fn new(first: Timestamp, last: Timestamp, bucket: Option<Duration>) -> anyhow::Result<Self> {
        let span = last.0.saturating_sub(first.0);
        let nice = || NICE.into_iter().find(|nice| span / nice < COLUMNS).unwrap_or(span / COLUMNS + 1);
        let bucket_ms = bucket.map_or_else(nice, millis).max(1);
        let columns = last.0 / bucket_ms - first.0 / bucket_ms + 1;
        anyhow::ensure!(
            columns <= MOST_COLUMNS,
            "that makes {columns} columns, more than {MOST_COLUMNS}; give a longer --bucket or a shorter time"
        );
        Ok(Self {
            failures: 0,
            faults: 0,
            first,
            last,
            bucket_ms,
            routes: BTreeMap::new(),
            error_kinds: BTreeMap::new(),
            policies: BTreeMap::new(),
            outcomes: BTreeMap::new(),
            over_time: BTreeMap::new(),
        })
    }

    pub(super) fn bucket(&self) -> Duration {
        Duration::from_millis(self.bucket_ms)
    }

    /// The beginning of the first column.
    pub(super) fn begin(&self) -> u64 {
        self.first.0 / self.bucket_ms * self.bucket_ms
    }

    pub(super) fn columns(&self) -> usize {
        usize::try_from((self.last.0 - self.begin()) / self.bucket_ms + 1).unwrap_or(1)
    }

    pub(super) fn add(&mut self, count: &Count) {
        let add = |counts: &mut BTreeMap<String, u64>, name: &str| {
            *counts.entry(name.to_owned()).or_default() += count.count;
        };
        let outcome = count.outcome.map_or(UNKNOWN, OutcomeKind::name);
        self.failures += count.count;
        self.faults += if count.is_fault { count.count } else { 0 };
        add(&mut self.routes, &count.route);
        add(&mut self.error_kinds, &count.error_kind);
        add(&mut self.policies, count.policy.as_deref().unwrap_or(NONE));
        add(&mut self.outcomes, outcome);
        let columns = self.columns();
        let column = usize::try_from(count.from.0.saturating_sub(self.begin()) / self.bucket_ms).unwrap_or(usize::MAX);
        // What was recorded between two looks at the file lies behind the last column.
        let column = column.min(columns - 1);
        self.over_time.entry(outcome).or_insert_with(|| vec![0; columns])[column] += count.count;
    }

    pub(super) fn groups(&self) -> [(&'static str, &BTreeMap<String, u64>); 4] {
        [
            ("outcome", &self.outcomes),
            ("error kind", &self.error_kinds),
            ("route", &self.routes),
            ("policy", &self.policies),
        ]
    }

    /// The outcomes that there are, in the order of their list, each with its counts over time.
    pub(super) fn series(&self) -> impl Iterator<Item = (&'static str, &Vec<u64>)> {
        let names = OutcomeKind::ALL.map(OutcomeKind::name).into_iter().chain([UNKNOWN]);
        names.filter_map(|name| Some((name, self.over_time.get(name)?)))
    }

    /// All outcomes together.
    pub(super) fn totals(&self) -> Vec<u64> {
        let mut totals = vec![0; self.columns()];
        for counts in self.over_time.values() {
            totals.iter_mut().zip(counts).for_each(|(total, count)| *total += count);
        }
        totals
    }
}
