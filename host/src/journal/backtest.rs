//! Judges recorded failures again, with another policy, and says what would change. Without printing.
//!
//! * `coverage`: can a failure be judged exactly, with what was kept of it? `question`: who judges, and whom it is compared with.
//! * `report`: what came of it. `follow`: whole messages, as far as the record tells. `limit`: what a build server accepts.

mod coverage;
mod follow;
mod limit;
mod question;
mod report;
#[cfg(test)]
mod tests;

use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

pub use coverage::gap;
pub use follow::Followed;
pub use limit::{Limit, LimitError};
pub use question::{Against, Question};
pub use report::{Change, Count, Group, Report};

use super::{Entry, JournalError, RawEntry};
use report::Part;

/// Entries that are handed to a thread together.
const BATCH: usize = 256;

/// One recorded failure, read or not yet.
#[derive(Debug)]
pub enum Record {
    /// As it stands in a journal.
    Raw(RawEntry),
    /// Read already.
    Entry(Box<Entry>),
}

/// Judges all records that `feed` hands out, on `threads` threads beside this one. `feed` is told with each record whether to go
/// on.
///
/// # Errors
/// Those of `feed`, and a record that cannot be read.
pub fn backtest(
    question: &Arc<Question>,
    threads: usize,
    feed: impl FnOnce(&mut dyn FnMut(Record) -> bool) -> Result<(), JournalError>,
) -> Result<Report, JournalError> {
    let (batches, queue) = sync_channel::<Vec<Record>>(4 * threads.max(1));
    let queue = Mutex::new(queue);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(|| work(question, &queue))).collect();
        let mut batch = Vec::with_capacity(BATCH);
        let fed = feed(&mut |record| {
            batch.push(record);
            // Where every thread has ended, one of them says why.
            batch.len() < BATCH || batches.send(std::mem::replace(&mut batch, Vec::with_capacity(BATCH))).is_ok()
        });
        let rest = batches.send(batch);
        drop(batches);
        let mut whole = Part::default();
        let mut problem = fed.err();
        for worker in workers {
            match worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)) {
                Ok(part) => whole.add(part),
                Err(error) => problem = problem.or(Some(error)),
            }
        }
        // It fails only where every thread has ended, and so with a problem.
        drop(rest);
        problem.map_or_else(|| Ok(whole.report()), Err)
    })
}

fn work(question: &Question, queue: &Mutex<Receiver<Vec<Record>>>) -> Result<Part, JournalError> {
    let mut part = Part::default();
    loop {
        let batch = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(batch) = batch else { return Ok(part) };
        for record in batch {
            let entry = match record {
                Record::Raw(raw) => raw.parse()?,
                Record::Entry(entry) => *entry,
            };
            question.ask(&entry, &mut part);
        }
    }
}
