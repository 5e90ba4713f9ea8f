//! The table of handled messages.

use std::time::{Duration, Instant};

use rusqlite::{Connection, OptionalExtension, Transaction, params};
use tracing::warn;

use super::HandledKey;
use super::worker::Record;
use crate::timestamp::{Timestamp, millis};

/// Beside the key: when it was handled, and until when that matters, in milliseconds since the Unix epoch.
const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS handled (
        route TEXT NOT NULL,
        digest BLOB NOT NULL,
        handled_at INTEGER NOT NULL,
        until INTEGER NOT NULL,
        PRIMARY KEY (route, digest)
    ) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS handled_until ON handled (until);
";

/// Each commit takes away what is out of date: of more than it adds, so that none is left over time.
const PRUNED_BESIDE: u64 = 64;

/// Between warnings that the table is full.
const BETWEEN_WARNINGS: Duration = Duration::from_secs(600);

pub(super) struct Handled {
    connection: Connection,
    rows: u64,
    most_rows: u64,
    warned: Option<Instant>,
}

impl Handled {
    /// Makes the table where there is none.
    pub(super) fn open(connection: Connection, most_rows: u64) -> rusqlite::Result<Self> {
        connection.execute_batch(SCHEMA)?;
        let rows: i64 = connection.query_one("SELECT count(*) FROM handled", [], |row| row.get(0))?;
        Ok(Self { connection, rows: rows.unsigned_abs(), most_rows, warned: None })
    }

    /// Whether the message was handled within `window` of `now`; a clock that was set back makes nothing last for ever.
    pub(super) fn find(&mut self, key: &HandledKey, now: Timestamp, window: Duration) -> rusqlite::Result<bool> {
        let mut find =
            self.connection.prepare_cached("SELECT handled_at FROM handled WHERE route = ?1 AND digest = ?2")?;
        let at: Option<i64> = find.query_one(params![key.route, key.digest], |row| row.get(0)).optional()?;
        Ok(at.is_some_and(|at| integer(now).abs_diff(at) < millis(window)))
    }

    /// Lets the file grow to so many pages of 4 KiB.
    #[cfg(test)]
    pub(super) fn limit_pages(&self, pages: u32) {
        self.connection.pragma_update(None, "max_page_count", pages).expect("a limit");
    }

    /// Records all in one commit.
    pub(super) fn record(&mut self, records: &[Record]) -> rusqlite::Result<()> {
        let transaction = self.connection.transaction()?;
        let mut rows = self.rows;
        for record in records {
            rows += insert(&transaction, record)?;
        }
        let now = records.iter().map(|record| record.at).max().unwrap_or_default();
        let out_of_date = "WHERE until <= ?1 ORDER BY until LIMIT ?2";
        let limit = 2 * records.len() as u64 + PRUNED_BESIDE;
        rows = rows.saturating_sub(delete(&transaction, out_of_date, integer(now), limit)?);
        let excess = rows.saturating_sub(self.most_rows);
        if excess > 0 {
            rows = rows.saturating_sub(delete(&transaction, "WHERE until > ?1 ORDER BY until LIMIT ?2", 0, excess)?);
        }
        transaction.commit()?;
        self.rows = rows;
        if excess > 0 && self.warned.is_none_or(|at| at.elapsed() >= BETWEEN_WARNINGS) {
            self.warned = Some(Instant::now());
            warn!(
                most = self.most_rows,
                "more messages were handled within their windows than the store holds: the oldest are forgotten early, \
                 so shorten `window` of `deduplicate`"
            );
        }
        Ok(())
    }
}

/// The rows that this added.
fn insert(transaction: &Transaction<'_>, record: &Record) -> rusqlite::Result<u64> {
    let (at, until) = (integer(record.at), integer(record.until));
    let values = params![record.key.route, record.key.digest, at, until];
    let mut update = transaction
        .prepare_cached("UPDATE handled SET handled_at = ?3, until = ?4 WHERE route = ?1 AND digest = ?2")?;
    if update.execute(values)? > 0 {
        return Ok(0);
    }
    let mut insert =
        transaction.prepare_cached("INSERT INTO handled (route, digest, handled_at, until) VALUES (?1, ?2, ?3, ?4)")?;
    Ok(insert.execute(values)? as u64)
}

/// Deletes the rows that `which` selects, and says how many those were.
fn delete(transaction: &Transaction<'_>, which: &str, time: i64, limit: u64) -> rusqlite::Result<u64> {
    let sql = format!("DELETE FROM handled WHERE (route, digest) IN (SELECT route, digest FROM handled {which})");
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    Ok(transaction.prepare_cached(&sql)?.execute(params![time, limit])? as u64)
}

fn integer(time: Timestamp) -> i64 {
    i64::try_from(time.0).unwrap_or(i64::MAX)
}
