//! What the host keeps on disk across restarts, in one SQLite file: which messages were handled, against duplicates.
//!
//! A thread of its own does all work on the file. What arrives while it commits waits and shares the next commit, so
//! that many deliveries pay for one sync of the disk.
//!
//! * `worker`: the thread; opens the file, and sets a corrupt one aside.
//! * `handled`: the table.

mod handled;
#[cfg(test)]
mod tests;
mod worker;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use crate::timestamp::Timestamp;
use worker::{Command, Worker};

/// Rows that the file holds at most, of all routes together: about 150 MB.
const MOST_ROWS: u64 = 1_000_000;

/// Commands that may wait for the thread.
const QUEUE: usize = 4096;

/// Nobody waits longer for an answer: a message must not be held up by a file system that hangs.
const PATIENCE: Duration = Duration::from_secs(5);

/// The file, opened when it is first needed. Clones are the same store; the thread ends with the last of them.
#[derive(Debug, Clone)]
pub struct Store {
    commands: mpsc::Sender<Command>,
}

/// Why the store gave no answer. It may at the next time: it opens the file again by itself.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The file could not be opened, read or written. The text names it and says why.
    #[error("{0}")]
    File(Arc<str>),
    /// More is asked of it than it can do, or the disk does not answer.
    #[error("the store did not answer in time")]
    Late,
}

/// A message of a route by the digest of what tells duplicates.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HandledKey {
    /// The route's name.
    pub route: Arc<str>,
    /// The digest.
    pub digest: [u8; 32],
}

impl Store {
    /// A store in this file, whose folder is made where it is missing. Nothing is read or written yet.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn new(file: impl Into<PathBuf>) -> std::io::Result<Self> {
        Self::with_limit(file, MOST_ROWS)
    }

    fn with_limit(file: impl Into<PathBuf>, most_rows: u64) -> std::io::Result<Self> {
        let (commands, queue) = mpsc::channel(QUEUE);
        let worker = Worker::new(file.into(), most_rows);
        std::thread::Builder::new().name("store".to_owned()).spawn(move || worker.run(queue))?;
        Ok(Self { commands })
    }

    /// Records that a message was handled at `at`, to be remembered for `window`. `Ok` means that it is on disk.
    ///
    /// # Errors
    /// It may not be recorded, and may be all the same.
    pub async fn record_handled(&self, key: HandledKey, at: Timestamp, window: Duration) -> Result<(), StoreError> {
        self.ask(|answer| Command::Record { key, at, until: at.after(window), answer }).await
    }

    /// Whether a message was handled within `window` before `now`.
    ///
    /// # Errors
    /// It is not known.
    pub async fn was_handled(&self, key: HandledKey, now: Timestamp, window: Duration) -> Result<bool, StoreError> {
        self.ask(|answer| Command::Find { key, now, window, answer }).await
    }

    async fn ask<T>(
        &self,
        command: impl FnOnce(oneshot::Sender<Result<T, StoreError>>) -> Command,
    ) -> Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        self.commands.try_send(command(answer)).map_err(|_| StoreError::Late)?;
        match tokio::time::timeout(PATIENCE, answered).await {
            Ok(Ok(result)) => result,
            Ok(Err(_)) | Err(_) => Err(StoreError::Late),
        }
    }
}
