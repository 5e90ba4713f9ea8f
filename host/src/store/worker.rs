//! The thread that works on the file.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};
use tracing::{error, info};

use super::handled::Handled;
use super::{HandledKey, StoreError};
use crate::sqlite::{is_corrupt, set_aside};
use crate::timestamp::Timestamp;

/// Commands that share a commit at most.
const LARGEST_BATCH: usize = 1024;

/// Another process may hold the file for so long.
const BUSY: Duration = Duration::from_millis(500);

/// A file that could not be opened is not tried again before.
const BETWEEN_OPENINGS: Duration = Duration::from_secs(1);

pub(super) enum Command {
    Record { key: HandledKey, at: Timestamp, until: Timestamp, answer: oneshot::Sender<Result<(), StoreError>> },
    Find { key: HandledKey, now: Timestamp, window: Duration, answer: oneshot::Sender<Result<bool, StoreError>> },
}

/// What is recorded in one commit.
pub(super) struct Record {
    pub(super) key: HandledKey,
    pub(super) at: Timestamp,
    pub(super) until: Timestamp,
}

pub(super) struct Worker {
    file: PathBuf,
    most_rows: u64,
    open: Option<Handled>,
    refused: Option<(Instant, StoreError)>,
}

impl Worker {
    pub(super) const fn new(file: PathBuf, most_rows: u64) -> Self {
        Self { file, most_rows, open: None, refused: None }
    }

    pub(super) fn run(mut self, mut queue: mpsc::Receiver<Command>) {
        let mut batch = Vec::new();
        while queue.blocking_recv_many(&mut batch, LARGEST_BATCH) > 0 {
            self.carry_out(&mut batch);
        }
    }

    fn carry_out(&mut self, batch: &mut Vec<Command>) {
        let (mut records, mut recorded) = (Vec::new(), Vec::new());
        for command in batch.drain(..) {
            match command {
                // Reads do not wait for the commit.
                Command::Find { key, now, window, answer } => {
                    // Whoever asked may have given up.
                    let _ = answer.send(self.on_file(|handled| handled.find(&key, now, window)));
                }
                Command::Record { key, at, until, answer } => {
                    records.push(Record { key, at, until });
                    recorded.push(answer);
                }
            }
        }
        if !records.is_empty() {
            let result = self.on_file(|handled| handled.record(&records));
            for answer in recorded {
                let _ = answer.send(result.clone());
            }
        }
    }

    /// Works on the file; once more on a new one, where this one turns out to be corrupt.
    fn on_file<T>(&mut self, mut work: impl FnMut(&mut Handled) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        if let Some((since, refusal)) = &self.refused
            && since.elapsed() < BETWEEN_OPENINGS
        {
            return Err(refusal.clone());
        }
        let result = match self.attempt(&mut work) {
            Err(problem) if is_corrupt(&problem) => {
                self.open = None;
                match begin_anew(&self.file) {
                    Ok(()) => self.attempt(&mut work),
                    Err(problem) => Err(problem),
                }
            }
            result => result,
        };
        result.map_err(|problem| {
            let text = format!("cannot use {}: {problem}", self.file.display());
            let refusal = StoreError::File(text.into());
            if self.open.is_none() {
                self.refused = Some((Instant::now(), refusal.clone()));
            }
            refusal
        })
    }

    fn attempt<T>(&mut self, work: &mut impl FnMut(&mut Handled) -> rusqlite::Result<T>) -> rusqlite::Result<T> {
        if self.open.is_none() {
            self.open = Some(Handled::open(connect(&self.file)?, self.most_rows)?);
            self.refused = None;
        }
        work(self.open.as_mut().expect("it was just opened"))
    }
}

fn connect(file: &Path) -> rusqlite::Result<Connection> {
    if let Some(folder) = file.parent() {
        // Where this fails, so does the opening, and that error names the file.
        let _ = std::fs::create_dir_all(folder);
    }
    let connection = Connection::open(file)?;
    connection.busy_timeout(BUSY)?;
    // A commit is one write and one sync, and readers such as `sqlite3` do not stand in its way.
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    Ok(connection)
}

/// Sets a damaged file aside, and says so.
fn begin_anew(file: &Path) -> rusqlite::Result<()> {
    let kept_as = set_aside(file).map_err(|problem| cannot_move(file, &problem))?;
    error!(
        file = %file.display(),
        kept_as = %kept_as.display(),
        "the store was corrupt and is set aside: what it knew of handled messages is forgotten"
    );
    info!(file = %file.display(), "a new store is begun");
    Ok(())
}

fn cannot_move(file: &Path, problem: &std::io::Error) -> rusqlite::Error {
    let text = format!("it is corrupt and cannot be set aside ({problem}): move {} away", file.display());
    rusqlite::Error::ToSqlConversionFailure(text.into())
}
