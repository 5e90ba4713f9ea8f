//! Judges recorded failures again, with another policy, and says what would change. Without printing.
//!
//! * [`coverage`]: can the failures be judged exactly, with what was kept of them?
//! * `question`: who judges on which route, and whom it is compared with. `play`: what a host would make of what was said.
//! * `part`, `change`, `load`, `report`: what came of it. `follow`: whole messages, as far as the record tells.
//! * `limit`: what a build server accepts.

mod change;
mod coverage;
mod follow;
mod limit;
mod load;
mod part;
mod play;
mod question;
mod report;
#[cfg(test)]
mod tests;

use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

pub use coverage::{Coverage, Gap};
pub use follow::Followed;
pub use limit::{Limit, LimitError};
pub use load::Load;
pub use question::{Against, Judges, Question};
pub use report::{Change, Count, Example, Faults, Group, Override, Report, Waits};

use super::{Entry, JournalError, RawEntry};
use part::Part;

/// Entries that are handed to a thread together.
const BATCH: usize = 256;

/// One recorded failure.
#[derive(Debug)]
pub struct Record {
    /// Which of the journals it is from: numbers of entries are of one journal.
    pub journal: usize,
    /// It.
    pub content: Content,
}

/// A failure, read or not yet.
#[derive(Debug)]
pub enum Content {
    /// As it stands in a journal.
    Raw(RawEntry),
    /// Read already.
    Entry(Box<Entry>),
}

/// Judges all records that `feed` hands out, on `threads` threads beside this one, while `goes_on` says so. `feed` is told with
/// each record whether to hand out more.
///
/// # Errors
/// Those of `feed`, and a record that cannot be read.
pub fn backtest(
    question: &Question,
    threads: usize,
    goes_on: impl Fn() -> bool + Sync,
    feed: impl FnOnce(&mut dyn FnMut(Record) -> bool) -> Result<(), JournalError>,
) -> Result<Report, JournalError> {
    let ask = |record: Record, part: &mut Part| {
        let Some(judges) = question.judges(record.route()) else { return Ok(()) };
        let (journal, outcome) = (record.journal, record.outcome());
        let entry = match record.content {
            Content::Raw(raw) => raw.parse()?,
            Content::Entry(entry) => *entry,
        };
        question.ask(judges, journal, &entry, outcome, part);
        Ok(())
    };
    let mut whole = Part::default();
    for part in shared_out(threads, goes_on, feed, ask)? {
        whole.add(part);
    }
    Ok(whole.report(question.follows))
}

/// Says of all records whether the policies can judge them exactly, and judges none. Otherwise as [`backtest`].
///
/// # Errors
/// Those of `feed`, and a record that cannot be read.
pub fn coverage(
    question: &Question,
    threads: usize,
    goes_on: impl Fn() -> bool + Sync,
    feed: impl FnOnce(&mut dyn FnMut(Record) -> bool) -> Result<(), JournalError>,
) -> Result<Coverage, JournalError> {
    let look = |record: Record, coverage: &mut Coverage| {
        let Some(judges) = question.judges(record.route()) else { return Ok(()) };
        coverage.count(match &record.content {
            Content::Raw(raw) => judges.gaps_of(raw)?,
            Content::Entry(entry) => judges.gaps(&entry.failure, &entry.kept),
        });
        Ok(())
    };
    let mut whole = Coverage::default();
    for part in shared_out(threads, goes_on, feed, look)? {
        whole.add(part);
    }
    Ok(whole)
}

impl Record {
    fn route(&self) -> &str {
        match &self.content {
            Content::Raw(raw) => raw.route(),
            Content::Entry(entry) => &entry.route,
        }
    }

    fn outcome(&self) -> Option<super::OutcomeKind> {
        match &self.content {
            Content::Raw(raw) => raw.outcome(),
            Content::Entry(entry) => entry.outcome.as_ref().map(|outcome| outcome.kind),
        }
    }
}

/// Has every record looked at by one of the threads, and gives what each thread has found.
fn shared_out<P: Default + Send>(
    threads: usize,
    goes_on: impl Fn() -> bool + Sync,
    feed: impl FnOnce(&mut dyn FnMut(Record) -> bool) -> Result<(), JournalError>,
    look: impl Fn(Record, &mut P) -> Result<(), JournalError> + Sync,
) -> Result<Vec<P>, JournalError> {
    let threads = threads.max(1);
    let (batches, queue) = sync_channel::<Vec<Record>>(4 * threads);
    // The threads alone hold on to it: where all of them have ended, nothing more is handed out.
    let queue = Arc::new(Mutex::new(queue));
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                let (queue, goes_on, look) = (Arc::clone(&queue), &goes_on, &look);
                scope.spawn(move || work(&queue, goes_on, look))
            })
            .collect();
        drop(queue);
        let mut batch = Vec::with_capacity(BATCH);
        let fed = feed(&mut |record| {
            batch.push(record);
            if batch.len() < BATCH {
                return goes_on();
            }
            let full = std::mem::replace(&mut batch, Vec::with_capacity(BATCH));
            goes_on() && batches.send(full).is_ok()
        });
        // It fails only where every thread has ended, and so with a problem.
        let _ = batches.send(batch);
        drop(batches);
        let mut parts = Vec::with_capacity(threads);
        let mut problem = fed.err();
        for worker in workers {
            match worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)) {
                Ok(part) => parts.push(part),
                Err(error) => problem = problem.or(Some(error)),
            }
        }
        problem.map_or(Ok(parts), Err)
    })
}

fn work<P: Default>(
    queue: &Mutex<Receiver<Vec<Record>>>,
    goes_on: &impl Fn() -> bool,
    look: &(impl Fn(Record, &mut P) -> Result<(), JournalError> + Sync),
) -> Result<P, JournalError> {
    let mut part = P::default();
    loop {
        let batch = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(batch) = batch else { return Ok(part) };
        for record in batch.into_iter().take_while(|_| goes_on()) {
            look(record, &mut part)?;
        }
    }
}
