//! How many failures there were, counted in the file: so that no failure has to be read.

use std::time::Duration;

use rusqlite::{params, params_from_iter};

use super::{Filter, JournalError, OutcomeKind, Reader};
use crate::timestamp::{Timestamp, millis};
use crate::verdict::Maker;

/// Failures that have all of this in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Count {
    /// The beginning of the span of time that they fall into.
    pub from: Timestamp,
    /// Their route.
    pub route: String,
    /// Their error kind.
    pub error_kind: String,
    /// The policy that was asked.
    pub policy: Option<String>,
    /// Whether it failed to answer.
    pub is_fault: bool,
    /// What became of them; absent where that is not known.
    pub outcome: Option<OutcomeKind>,
    /// How many.
    pub count: u64,
}

impl Reader {
    /// Counts failures in spans of `bucket`, in the order of time.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn counts(&self, filter: &Filter, bucket: Duration) -> Result<Vec<Count>, JournalError> {
        let (conditions, values) = filter.to_sql();
        let span = millis(bucket).max(1);
        let sql = format!(
            "SELECT at / {span} * {span}, route, error_kind, policy, fault IS NOT NULL, outcome, count(*) FROM failures
             WHERE {conditions} GROUP BY 1, 2, 3, 4, 5, 6 ORDER BY 1, 2, 3, 4, 5, 6"
        );
        let read = || -> rusqlite::Result<Vec<Count>> {
            let mut select = self.connection.prepare(&sql)?;
            let rows = select.query_map(params_from_iter(values), |row| {
                Ok(Count {
                    from: Timestamp(row.get::<_, i64>(0)?.unsigned_abs()),
                    route: row.get(1)?,
                    error_kind: row.get(2)?,
                    policy: row.get(3)?,
                    is_fault: row.get(4)?,
                    outcome: row.get::<_, Option<String>>(5)?.and_then(|name| OutcomeKind::from_name(&name)),
                    count: row.get::<_, i64>(6)?.unsigned_abs(),
                })
            })?;
            rows.collect()
        };
        read().map_err(|problem| self.failed(problem))
    }

    /// How many failures a revision was asked about on a route from `from` until `until`, and how many of its answers were
    /// faults.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn revision_counts(
        &self,
        route: &str,
        maker: &Maker,
        from: Timestamp,
        until: Option<Timestamp>,
    ) -> Result<(u64, u64), JournalError> {
        let limit = |time: u64| i64::try_from(time).unwrap_or(i64::MAX);
        let counts: rusqlite::Result<(i64, i64)> = self.connection.query_row(
            "SELECT count(*), count(fault) FROM failures
             WHERE route = ?1 AND policy = ?2 AND revision = ?3 AND at >= ?4 AND at < ?5",
            params![route, maker.policy, maker.revision, limit(from.0), limit(until.map_or(u64::MAX, |until| until.0))],
            |row| Ok((row.get(0)?, row.get(1)?)),
        );
        let (decisions, faults) = counts.map_err(|problem| self.failed(problem))?;
        Ok((decisions.unsigned_abs(), faults.unsigned_abs()))
    }

    /// The times of the first and the last failure; `None` where there is none.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn span(&self, filter: &Filter) -> Result<Option<(Timestamp, Timestamp)>, JournalError> {
        let (conditions, values) = filter.to_sql();
        let sql = format!("SELECT min(at), max(at) FROM failures WHERE {conditions}");
        let ends: rusqlite::Result<(Option<i64>, Option<i64>)> =
            self.connection.query_row(&sql, params_from_iter(values), |row| Ok((row.get(0)?, row.get(1)?)));
        let (first, last) = ends.map_err(|problem| self.failed(problem))?;
        Ok(first.zip(last).map(|(first, last)| (Timestamp(first.unsigned_abs()), Timestamp(last.unsigned_abs()))))
    }
}
