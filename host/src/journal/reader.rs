//! Reads a journal, also one that a host is writing.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, Row, params_from_iter};
use serde::de::DeserializeOwned;

use super::{End, Entry, Filter, JournalError, Kept, OutcomeKind, Step, file};
use crate::failure::Failure;
use crate::verdict::Maker;

/// The columns that an entry is made from, in this order.
const COLUMNS: &str = "id, route, policy, revision, failure, kept, answer, done, candidate";

/// A journal that is read.
#[derive(Debug)]
pub struct Reader {
    file: PathBuf,
    pub(super) connection: Connection,
}

/// An entry as it stands in the file, with the name of its outcome alone.
#[derive(Debug)]
pub struct RawEntry {
    file: std::sync::Arc<PathBuf>,
    id: u64,
    route: String,
    policy: Option<String>,
    revision: Option<String>,
    failure: String,
    kept: Option<String>,
    answer: String,
    outcome: Option<OutcomeKind>,
}

impl RawEntry {
    /// The route's name.
    #[must_use]
    pub fn route(&self) -> &str {
        &self.route
    }

    /// What the host did, where that became durable.
    #[must_use]
    pub fn outcome(&self) -> Option<OutcomeKind> {
        self.outcome
    }

    /// Reads what was withheld.
    ///
    /// # Errors
    /// What is there does not say.
    pub fn kept(&self) -> Result<Kept, JournalError> {
        self.kept.as_ref().map_or_else(|| Ok(Kept::default()), |kept| self.read(kept))
    }

    /// Reads the failure.
    ///
    /// # Errors
    /// What is there is none.
    pub fn failure(&self) -> Result<Failure, JournalError> {
        self.read(&self.failure)
    }

    /// Reads all of it.
    ///
    /// # Errors
    /// What is there is no entry.
    pub fn parse(self) -> Result<Entry, JournalError> {
        let (failure, kept, answer) = (self.failure()?, self.kept()?, self.read(&self.answer)?);
        let Self { id, route, policy, revision, .. } = self;
        let maker = policy.zip(revision).map(|(policy, revision)| Maker { policy, revision });
        Ok(Entry { id, route, failure, kept, maker, answer, outcome: None, candidate: None })
    }

    fn read<T: DeserializeOwned>(&self, text: &str) -> Result<T, JournalError> {
        let wrong = |problem| JournalError::Row { file: self.file.to_path_buf(), row: self.id, problem };
        serde_json::from_str(text).map_err(wrong)
    }
}

/// Which entries come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// The oldest.
    #[default]
    OldestFirst,
    /// The latest.
    LatestFirst,
}

impl Reader {
    /// Opens a journal's file.
    ///
    /// # Errors
    /// It is not there, cannot be read, or is another version's.
    pub fn open(file: impl AsRef<Path>) -> Result<Self, JournalError> {
        let file = file.as_ref();
        Ok(Self { file: file.to_owned(), connection: file::open_to_read(file)? })
    }

    /// The file that is read.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The host whose journal this is, where it said so.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn host(&self) -> Result<Option<String>, JournalError> {
        let host = self.connection.query_row("SELECT value FROM about WHERE name = 'host'", [], |row| row.get(0));
        host.optional().map_err(|problem| self.failed(problem))
    }

    /// How many entries there are.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn count(&self, filter: &Filter) -> Result<u64, JournalError> {
        let (conditions, values) = filter.to_sql();
        let sql = format!("SELECT count(*) FROM failures WHERE {conditions}");
        let count: rusqlite::Result<i64> = self.connection.query_row(&sql, params_from_iter(values), |row| row.get(0));
        count.map(i64::unsigned_abs).map_err(|problem| self.failed(problem))
    }

    /// Hands entries to `each` until there are no more, or it says `false`.
    ///
    /// # Errors
    /// The file cannot be read, or an entry in it is none.
    pub fn entries(
        &self,
        filter: &Filter,
        order: Order,
        mut each: impl FnMut(Entry) -> bool,
    ) -> Result<(), JournalError> {
        let (conditions, values) = filter.to_sql();
        let direction = match order {
            Order::OldestFirst => "ASC",
            Order::LatestFirst => "DESC",
        };
        let sql = format!("SELECT {COLUMNS} FROM failures WHERE {conditions} ORDER BY id {direction}");
        let failed = |problem| self.failed(problem);
        let mut select = self.connection.prepare(&sql).map_err(failed)?;
        let mut rows = select.query(params_from_iter(values)).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            if !each(self.entry(row)?) {
                break;
            }
        }
        Ok(())
    }

    /// The same as it stands there, for whoever reads many and parses them on other threads; the oldest first.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn raw_entries(&self, filter: &Filter, mut each: impl FnMut(RawEntry) -> bool) -> Result<(), JournalError> {
        let (conditions, values) = filter.to_sql();
        let sql = format!(
            "SELECT id, route, policy, revision, failure, kept, answer, outcome FROM failures WHERE {conditions} ORDER BY id"
        );
        let failed = |problem| self.failed(problem);
        let mut select = self.connection.prepare(&sql).map_err(failed)?;
        let mut rows = select.query(params_from_iter(values)).map_err(failed)?;
        let file = std::sync::Arc::new(self.file.clone());
        while let Some(row) = rows.next().map_err(failed)? {
            let read = || -> rusqlite::Result<RawEntry> {
                Ok(RawEntry {
                    file: std::sync::Arc::clone(&file),
                    id: row.get::<_, i64>(0)?.unsigned_abs(),
                    route: row.get(1)?,
                    policy: row.get(2)?,
                    revision: row.get(3)?,
                    failure: row.get(4)?,
                    kept: row.get(5)?,
                    answer: row.get(6)?,
                    outcome: row.get_ref(7)?.as_str_or_null()?.and_then(OutcomeKind::from_name),
                })
            };
            if !each(read().map_err(failed)?) {
                break;
            }
        }
        Ok(())
    }

    /// One entry; `None` where the journal has none of this number.
    ///
    /// # Errors
    /// The file cannot be read, or what is there is no entry.
    pub fn entry_of(&self, id: u64) -> Result<Option<Entry>, JournalError> {
        let Some(before) = id.checked_sub(1) else { return Ok(None) };
        let filter = Filter { after: Some(before), ..Filter::default() };
        let mut found = None;
        self.entries(&filter, Order::OldestFirst, |entry| {
            found = Some(entry);
            false
        })?;
        Ok(found.filter(|entry| entry.id == id))
    }

    /// How messages that had failed left their routes without failing again: of one message, or of all.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn ends(&self, message_id: Option<&str>) -> Result<Vec<End>, JournalError> {
        let condition = if message_id.is_some() { "message_id = ?" } else { "true" };
        self.read_all(&format!("SELECT id, ended FROM ends WHERE {condition} ORDER BY id"), message_id)
    }

    /// The history of policies: of one route, or of all.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn steps(&self, route: Option<&str>) -> Result<Vec<Step>, JournalError> {
        let condition = if route.is_some() { "route = ?" } else { "true" };
        self.read_all(&format!("SELECT id, step FROM steps WHERE {condition} ORDER BY id"), route)
    }

    /// What every row holds as JSON in its second column.
    fn read_all<T: DeserializeOwned>(&self, sql: &str, value: Option<&str>) -> Result<Vec<T>, JournalError> {
        let failed = |problem| self.failed(problem);
        let mut select = self.connection.prepare(sql).map_err(failed)?;
        let mut rows = select.query(params_from_iter(value)).map_err(failed)?;
        let mut all = Vec::new();
        while let Some(row) = rows.next().map_err(failed)? {
            let id: i64 = row.get(0).map_err(failed)?;
            all.push(
                self.parse(id.unsigned_abs(), row.get_ref(1).and_then(|text| Ok(text.as_str()?)).map_err(failed)?)?,
            );
        }
        Ok(all)
    }

    fn entry(&self, row: &Row<'_>) -> Result<Entry, JournalError> {
        let failed = |problem| self.failed(problem);
        let id = row.get::<_, i64>(0).map_err(failed)?.unsigned_abs();
        let text = |column| row.get_ref(column).and_then(|value| Ok(value.as_str_or_null()?)).map_err(failed);
        let some = |column| -> Result<String, JournalError> { Ok(text(column)?.unwrap_or_default().to_owned()) };
        let maker = match (text(2)?, text(3)?) {
            (Some(policy), Some(revision)) => Some(Maker { policy: policy.to_owned(), revision: revision.to_owned() }),
            _ => None,
        };
        Ok(Entry {
            id,
            route: some(1)?,
            failure: self.parse(id, text(4)?.unwrap_or_default())?,
            kept: text(5)?.map(|kept| self.parse(id, kept)).transpose()?.unwrap_or_default(),
            maker,
            answer: self.parse(id, text(6)?.unwrap_or_default())?,
            outcome: text(7)?.map(|outcome| self.parse(id, outcome)).transpose()?,
            candidate: text(8)?.map(|candidate| self.parse(id, candidate)).transpose()?,
        })
    }

    fn parse<T: DeserializeOwned>(&self, row: u64, text: &str) -> Result<T, JournalError> {
        serde_json::from_str(text).map_err(|problem| JournalError::Row { file: self.file.clone(), row, problem })
    }

    pub(super) fn failed(&self, problem: rusqlite::Error) -> JournalError {
        JournalError::File { file: self.file.clone(), problem }
    }
}
