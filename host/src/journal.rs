//! The local record of every failure, verdict and outcome, in one SQLite file, and what is asked of it.
//!
//! * `entry`: a judged failure and what became of it. `kept`: how much of its message is there.
//! * [`backtest`]: recorded failures judged again, by another policy.
//! * `step`: what happened to a route's policies. `end`: how a message that had failed left the route without failing.
//! * `writer`, `worker`: what the routes tell, and the thread that writes it. `keeping`: what of a failure is kept.
//! * `file`: the tables. `log`: appends to them. `reader`, `filter`, `counts`: reads them, also while a host writes.

pub mod backtest;
mod counts;
mod end;
mod entry;
mod file;
mod filter;
mod keeping;
mod kept;
mod log;
mod reader;
mod step;
#[cfg(test)]
mod tests;
mod worker;
mod writer;

pub use crate::policy::candidate::CandidateMode;
pub use counts::Count;
pub use end::{End, EndKind};
pub use entry::{Candidate, Entry, Outcome, OutcomeKind};
pub use filter::Filter;
pub use keeping::{Keeping, Mask};
pub use kept::Kept;
pub use log::{Batch, Log, Pruned};
pub use reader::{Order, RawEntry, Reader};
pub use step::{Step, StepKind};
pub use writer::{Journal, JournalSettings, Ticket};

/// The file's name in the host's state folder.
pub const FILE: &str = "journal.db";

/// Why the journal could not be read or written. The text names the file and the cure.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// There is no such file.
    #[error(
        "there is no journal {0}; name a host's state folder or its journal file, or set `[journal]` in its configuration"
    )]
    Missing(std::path::PathBuf),
    /// The file is another version's.
    #[error(
        "{file} has the layout {found} of a journal, and this program reads {expected}; read it with the program that wrote it, or move it away"
    )]
    Layout {
        /// Which file.
        file: std::path::PathBuf,
        /// What it says.
        found: i64,
        /// What this program reads.
        expected: i64,
    },
    /// A row does not hold what it should.
    #[error("row {row} of {file} cannot be read: {problem}; if that happens for many, move the file away")]
    Row {
        /// Which file.
        file: std::path::PathBuf,
        /// Which row.
        row: u64,
        /// What is wrong.
        problem: serde_json::Error,
    },
    /// SQLite could not.
    #[error("cannot use {file}: {problem}")]
    File {
        /// Which file.
        file: std::path::PathBuf,
        /// What it said.
        problem: rusqlite::Error,
    },
}

impl JournalError {
    /// The file is damaged.
    fn is_corrupt(&self) -> bool {
        matches!(self, Self::File { problem, .. } if crate::sqlite::is_corrupt(problem))
    }
}
