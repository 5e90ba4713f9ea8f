//! Appends to a journal.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, Transaction, params};
use serde::Serialize;

use super::{Candidate, End, Entry, JournalError, Outcome, Step, file};
use crate::timestamp::Timestamp;

/// Entries that are taken out at a time: so that whoever writes does not stand still.
const PRUNED_AT_ONCE: i64 = 2000;

/// Before anything is taken out: the next number is above all that there were.
const REMEMBER_LAST: &str = "
    INSERT INTO about SELECT 'last_id', id FROM (SELECT max(id) AS id FROM failures) WHERE id IS NOT NULL
    ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE value < excluded.value";
const TAKE_OLD_FAILURES: &str =
    "DELETE FROM failures WHERE id IN (SELECT id FROM failures WHERE at < ?1 ORDER BY at LIMIT ?2)";
const TAKE_FIRST_FAILURES: &str = "DELETE FROM failures WHERE id IN (SELECT id FROM failures ORDER BY id LIMIT ?1)";
/// Looks at the first ones only: they have no index by time, and are in its order unless a clock was set back.
const TAKE_OLD_ENDS: &str = "DELETE FROM ends WHERE at < ?1 AND id IN (SELECT id FROM ends ORDER BY id LIMIT ?2)";

/// A journal that is written. One writer at a time; any number may read beside it.
#[derive(Debug)]
pub struct Log {
    file: PathBuf,
    connection: Connection,
}

impl Log {
    /// Opens the file, which is made where there is none.
    ///
    /// # Errors
    /// It cannot be opened, or is another version's.
    pub fn open(file: impl AsRef<Path>) -> Result<Self, JournalError> {
        let file = file.as_ref();
        Ok(Self { file: file.to_owned(), connection: file::open(file)? })
    }

    /// The highest number that an entry has; 0 where there is none.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn last_id(&self) -> Result<u64, JournalError> {
        // What was taken out had numbers that are not given again.
        let sql = "SELECT max(ifnull((SELECT max(id) FROM failures), 0),
                              ifnull((SELECT value FROM about WHERE name = 'last_id'), 0))";
        let last: rusqlite::Result<i64> = self.connection.query_row(sql, [], |row| row.get(0));
        last.map(i64::unsigned_abs).map_err(|problem| self.failed(problem))
    }

    /// Whose journal this is, as it was last said.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn host(&self) -> Result<Option<String>, JournalError> {
        let host = self.connection.query_row("SELECT value FROM about WHERE name = 'host'", [], |row| row.get(0));
        host.optional().map_err(|problem| self.failed(problem))
    }

    /// Says whose journal this is.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn set_host(&self, host: &str) -> Result<(), JournalError> {
        let set = self.connection.execute("INSERT OR REPLACE INTO about VALUES ('host', ?1)", [host]);
        set.map(drop).map_err(|problem| self.failed(problem))
    }

    /// Does what `write` does in one transaction.
    ///
    /// # Errors
    /// The file cannot be written; then nothing of it is.
    pub fn write<T>(&mut self, write: impl FnOnce(&Batch<'_>) -> rusqlite::Result<T>) -> Result<T, JournalError> {
        let run = || {
            let batch = Batch { transaction: self.connection.transaction()? };
            let written = write(&batch)?;
            batch.transaction.commit()?;
            Ok(written)
        };
        run().map_err(|problem| JournalError::File { file: self.file.clone(), problem })
    }

    /// What values are hashed with here: random, made with the file.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub(super) fn key(&self) -> Result<Vec<u8>, JournalError> {
        let made = self.connection.execute("INSERT OR IGNORE INTO about VALUES ('key', randomblob(32))", []);
        let read = made.and_then(|_| {
            self.connection.query_row("SELECT value FROM about WHERE name = 'key'", [], |row| row.get(0))
        });
        read.map_err(|problem| self.failed(problem))
    }

    /// Takes out entries from before `oldest`, and the oldest while the file has more than `max_size` bytes: some at a time.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn prune(&mut self, oldest: Timestamp, max_size: u64) -> Result<Pruned, JournalError> {
        self.try_prune(oldest, max_size).map_err(|problem| self.failed(problem))
    }

    fn try_prune(&mut self, oldest: Timestamp, max_size: u64) -> rusqlite::Result<Pruned> {
        let number = |connection: &Connection, pragma: &str| -> rusqlite::Result<u64> {
            let number: i64 = connection.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get(0))?;
            Ok(number.unsigned_abs())
        };
        let page = number(&self.connection, "page_size")?;
        let pages = number(&self.connection, "page_count")?.saturating_sub(number(&self.connection, "freelist_count")?);
        let too_large = pages.saturating_mul(page) > max_size;
        let transaction = self.connection.transaction()?;
        transaction.prepare_cached(REMEMBER_LAST)?.execute([])?;
        let mut taken = transaction.prepare_cached(TAKE_OLD_FAILURES)?.execute([integer(oldest.0), PRUNED_AT_ONCE])?;
        taken += transaction.prepare_cached(TAKE_OLD_ENDS)?.execute([integer(oldest.0), PRUNED_AT_ONCE])?;
        if too_large {
            let failures = transaction.prepare_cached(TAKE_FIRST_FAILURES)?.execute([PRUNED_AT_ONCE])?;
            // The ends that go with them; any, where there are no failures that could go.
            let left: Option<i64> = transaction.query_row("SELECT min(at) FROM failures", [], |row| row.get(0))?;
            let ends =
                transaction.prepare_cached(TAKE_OLD_ENDS)?.execute([left.unwrap_or(i64::MAX), PRUNED_AT_ONCE])?;
            taken += failures + ends;
        }
        transaction.commit()?;
        if taken > 0 {
            self.connection.execute_batch("PRAGMA incremental_vacuum(4096)")?;
        }
        let bytes = number(&self.connection, "page_count")?.saturating_mul(page);
        let oldest: Option<i64> = self.connection.query_row("SELECT min(at) FROM failures", [], |row| row.get(0))?;
        let goes_on = taken > 0 && (too_large || taken as i64 >= PRUNED_AT_ONCE);
        Ok(Pruned { bytes, goes_on, oldest: oldest.map(|at| Timestamp(at.unsigned_abs())) })
    }

    fn failed(&self, problem: rusqlite::Error) -> JournalError {
        JournalError::File { file: self.file.clone(), problem }
    }
}

/// What was taken out, and what is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pruned {
    /// The file's size.
    pub bytes: u64,
    /// There may be more to take out.
    pub goes_on: bool,
    /// When the oldest failure was that is left.
    pub oldest: Option<Timestamp>,
}

/// What is written in one transaction.
#[derive(Debug)]
pub struct Batch<'c> {
    transaction: Transaction<'c>,
}

impl Batch<'_> {
    /// Adds an entry; under the next free number where its own is 0.
    ///
    /// # Errors
    /// The file cannot be written, or the number is taken.
    pub fn add(&self, entry: &Entry) -> rusqlite::Result<()> {
        let failure = &entry.failure;
        let id = (entry.id > 0).then(|| integer(entry.id));
        let (action, fault) = match &entry.answer {
            Ok(verdict) => (Some(verdict.action.name()), None),
            Err(fault) => (None, Some(fault.kind.name())),
        };
        let maker = entry.maker.as_ref();
        let mut insert = self.transaction.prepare_cached(
            "INSERT INTO failures (id, at, route, message_id, error_kind, attempt, policy, revision, action, fault, outcome,
                 failure, kept, answer, done, candidate)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
        )?;
        insert.execute(params![
            id,
            integer(failure.now.0),
            entry.route,
            failure.message.id,
            failure.error.kind,
            failure.attempt,
            maker.map(|maker| &maker.policy),
            maker.map(|maker| &maker.revision),
            action,
            fault,
            entry.outcome.as_ref().map(|outcome| outcome.kind.name()),
            json(failure)?,
            some_json((!entry.kept.is_everything()).then_some(&entry.kept))?,
            json(&entry.answer)?,
            some_json(entry.outcome.as_ref())?,
            some_json(entry.candidate.as_ref())?,
        ])?;
        Ok(())
    }

    /// Adds to an entry what became of its failure. `false` where there is no such entry.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn set_outcome(&self, id: u64, outcome: &Outcome) -> rusqlite::Result<bool> {
        let mut update =
            self.transaction.prepare_cached("UPDATE failures SET outcome = ?2, done = ?3 WHERE id = ?1")?;
        Ok(update.execute(params![integer(id), outcome.kind.name(), json(outcome)?])? > 0)
    }

    /// Adds to an entry what a candidate said. `false` where there is no such entry.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn set_candidate(&self, id: u64, candidate: &Candidate) -> rusqlite::Result<bool> {
        let mut update = self.transaction.prepare_cached("UPDATE failures SET candidate = ?2 WHERE id = ?1")?;
        Ok(update.execute(params![integer(id), json(candidate)?])? > 0)
    }

    /// Adds how a message left a route without failing again.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add_end(&self, end: &End) -> rusqlite::Result<()> {
        let mut insert = self
            .transaction
            .prepare_cached("INSERT INTO ends (at, route, message_id, ended) VALUES (?1, ?2, ?3, ?4)")?;
        insert.execute(params![integer(end.at.0), end.route, end.message_id, json(end)?])?;
        Ok(())
    }

    /// Adds a step of a route's policies.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add_step(&self, step: &Step) -> rusqlite::Result<()> {
        let mut insert = self.transaction.prepare_cached("INSERT INTO steps (at, route, step) VALUES (?1, ?2, ?3)")?;
        insert.execute(params![integer(step.at.0), step.route, json(step)?])?;
        Ok(())
    }
}

fn json(value: &impl Serialize) -> rusqlite::Result<String> {
    serde_json::to_string(value).map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))
}

fn some_json(value: Option<&impl Serialize>) -> rusqlite::Result<Option<String>> {
    value.map(json).transpose()
}

fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
