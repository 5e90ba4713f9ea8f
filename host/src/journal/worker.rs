//! The thread that writes the journal.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tracing::{error, info, warn};

use super::writer::Ticket;
use super::{Candidate, End, Entry, JournalError, JournalSettings, Log, Outcome, Step};
use crate::failure::Failure;
use crate::observer::JournalMetrics;
use crate::sqlite::set_aside;
use crate::timestamp::Timestamp;
use crate::verdict::Decision;

/// What is written together at most.
const LARGEST_BATCH: usize = 4096;

/// Between batches: so that many entries share a transaction, and no message wakes the thread.
const REST: Duration = Duration::from_millis(50);

/// A file that could not be opened or written is not tried again before.
const BACK_OFF: Duration = Duration::from_secs(1);

/// Between two looks at age and size.
const PRUNE_EVERY: Duration = Duration::from_secs(10);

/// Between two log lines about the same trouble.
const SAY_AGAIN: Duration = Duration::from_secs(600);

pub(super) enum Command {
    Failed { ticket: Ticket, route: Arc<str>, failure: Arc<Failure>, decision: Decision, size: u64 },
    Outcome { ticket: Ticket, outcome: Outcome },
    Candidate { ticket: Ticket, candidate: Candidate },
    End(End),
    Step(Box<Step>),
    Flush(oneshot::Sender<()>),
}

/// What one transaction writes.
#[derive(Default)]
struct Batch {
    entries: Vec<Entry>,
    /// Where an entry of this batch is, by its number.
    places: HashMap<u64, usize>,
    outcomes: Vec<(u64, Outcome)>,
    candidates: Vec<(u64, Candidate)>,
    ends: Vec<End>,
    steps: Vec<Step>,
    flushed: Vec<oneshot::Sender<()>>,
}

pub(super) struct Worker {
    settings: JournalSettings,
    /// What waits keeps so many bytes in memory.
    bytes: Arc<AtomicU64>,
    metrics: JournalMetrics,
    trouble: Arc<Mutex<Option<String>>>,
    open: Option<Open>,
    /// The highest number that was in the file when it was first opened.
    base: Option<u64>,
    refused: Option<Instant>,
    said: Option<Instant>,
    pruned: Option<Instant>,
    /// What candidates said of failures that had not come yet.
    early: Vec<(u64, Candidate)>,
}

struct Open {
    log: Log,
    key: Vec<u8>,
}

impl Worker {
    pub(super) const fn new(
        settings: JournalSettings,
        bytes: Arc<AtomicU64>,
        metrics: JournalMetrics,
        trouble: Arc<Mutex<Option<String>>>,
    ) -> Self {
        Self {
            settings,
            bytes,
            metrics,
            trouble,
            open: None,
            base: None,
            refused: None,
            said: None,
            pruned: None,
            early: Vec::new(),
        }
    }

    /// Until nobody is left who could tell anything. `runtime` is for the waiting alone.
    pub(super) fn run(mut self, mut queue: mpsc::Receiver<Command>, runtime: &Runtime) {
        let mut commands = Vec::new();
        // Before the first entry, so that whoever reads finds a file, and trouble shows at once.
        self.write(Batch::default());
        loop {
            // What is too old goes also while nothing fails.
            let wait = if self.pruned.is_some() { PRUNE_EVERY } else { REST };
            let received = async { timeout(wait, queue.recv_many(&mut commands, LARGEST_BATCH)).await };
            match runtime.block_on(received) {
                Ok(0) => return,
                Ok(_) => {
                    let is_urgent = commands.len() >= LARGEST_BATCH
                        || commands.iter().any(|command| matches!(command, Command::Flush(_)));
                    self.carry_out(&mut commands);
                    if !is_urgent {
                        thread::sleep(REST);
                    }
                }
                Err(_) => self.write(Batch::default()),
            }
        }
    }

    fn carry_out(&mut self, commands: &mut Vec<Command>) {
        let mut batch = Batch::default();
        if self.is_open() {
            for command in commands.drain(..) {
                self.sort_in(command, &mut batch);
            }
            // A failure comes right after what its candidate said, if it comes at all.
            for (id, candidate) in self.early.drain(..) {
                if let Some(entry) = batch.entry(id) {
                    entry.candidate.get_or_insert(candidate);
                }
            }
        } else {
            for command in commands.drain(..) {
                match command {
                    Command::Flush(done) => batch.flushed.push(done),
                    Command::Failed { size, .. } => {
                        self.bytes.fetch_sub(size, Ordering::Relaxed);
                        self.metrics.lost("file", 1);
                    }
                    _ => self.metrics.lost("file", 1),
                }
            }
        }
        self.write(batch);
    }

    fn sort_in(&self, command: Command, batch: &mut Batch) {
        let (Some(Open { key, .. }), Some(base)) = (&self.open, self.base) else { return };
        let id = |ticket: Ticket| base.saturating_add(ticket.number());
        match command {
            Command::Failed { ticket, route, failure, decision, size } => {
                let (failure, kept) = self.settings.keeping.cut(&failure, key);
                self.bytes.fetch_sub(size, Ordering::Relaxed);
                let Decision { maker, result: answer } = decision;
                let maker = maker.map(|maker| maker.as_ref().clone());
                let (id, route) = (id(ticket), route.to_string());
                batch.places.insert(id, batch.entries.len());
                batch.entries.push(Entry { id, route, failure, kept, maker, answer, outcome: None, candidate: None });
            }
            Command::Outcome { ticket, outcome } => match batch.entry(id(ticket)) {
                Some(entry) => entry.outcome = Some(outcome),
                None => batch.outcomes.push((id(ticket), outcome)),
            },
            Command::Candidate { ticket, candidate } => match batch.entry(id(ticket)) {
                Some(entry) => entry.candidate = Some(candidate),
                None => batch.candidates.push((id(ticket), candidate)),
            },
            Command::End(end) => batch.ends.push(end),
            Command::Step(step) => batch.steps.push(*step),
            Command::Flush(done) => batch.flushed.push(done),
        }
    }

    /// Opens the file where it is not.
    fn is_open(&mut self) -> bool {
        if self.open.is_some() {
            return true;
        }
        if self.refused.is_some_and(|since| since.elapsed() < BACK_OFF) {
            return false;
        }
        let opened = match self.try_open() {
            Err(error) if error.is_corrupt() => begin_anew(&self.settings.file)
                .map_err(|problem| problem.to_string())
                .and_then(|()| self.try_open().map_err(|error| error.to_string())),
            opened => opened.map_err(|error| error.to_string()),
        };
        match opened {
            Ok(open) => {
                self.open = Some(open);
                self.is_well();
                true
            }
            Err(text) => {
                self.is_ill(text);
                false
            }
        }
    }

    fn try_open(&mut self) -> Result<Open, JournalError> {
        let log = Log::open(&self.settings.file)?;
        log.set_host(&self.settings.host)?;
        let last = log.last_id()?;
        self.base.get_or_insert(last);
        let key = log.key()?;
        Ok(Open { log, key })
    }

    fn write(&mut self, mut batch: Batch) {
        if self.is_open() && !batch.is_empty() {
            let count = batch.entries.len() as u64;
            let Some(Open { log, .. }) = &mut self.open else { return };
            match log.write(|to| batch.write(to)) {
                Ok(early) => {
                    batch.candidates.retain(|(id, _)| early.contains(id));
                    self.early = batch.candidates;
                    self.metrics.written(count);
                    self.is_well();
                }
                Err(error) => {
                    self.metrics.lost("file", batch.len());
                    // A file that is damaged is opened again, and set aside then.
                    if error.is_corrupt() {
                        self.open = None;
                    }
                    self.is_ill(error.to_string());
                }
            }
        }
        self.prune();
        for done in batch.flushed {
            // Whoever waited may have given up.
            let _ = done.send(());
        }
    }

    /// Takes out what is too old or too much.
    fn prune(&mut self) {
        let Some(Open { log, .. }) = &mut self.open else { return };
        if self.pruned.is_some_and(|at| at.elapsed() < PRUNE_EVERY) {
            return;
        }
        self.pruned = Some(Instant::now());
        let oldest = Timestamp(Timestamp::now().0.saturating_sub(crate::timestamp::millis(self.settings.max_age)));
        match log.prune(oldest, self.settings.max_size) {
            Ok(pruned) => {
                self.metrics.size(pruned.bytes);
                self.metrics.oldest(pruned.oldest);
                if pruned.goes_on {
                    self.pruned = None;
                }
            }
            Err(error) => self.is_ill(error.to_string()),
        }
    }

    fn is_well(&mut self) {
        self.refused = None;
        let before = self.trouble.lock().unwrap_or_else(PoisonError::into_inner).take();
        if before.is_some() {
            self.said = None;
            info!(file = %self.settings.file.display(), "the journal is written again");
        }
    }

    fn is_ill(&mut self, text: String) {
        self.refused = Some(Instant::now());
        if self.said.is_none_or(|at| at.elapsed() >= SAY_AGAIN) {
            self.said = Some(Instant::now());
            error!(error = text, "the journal cannot be written: failures are judged all the same, and not recorded");
        }
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
    }
}

impl Batch {
    fn entry(&mut self, id: u64) -> Option<&mut Entry> {
        self.places.get(&id).and_then(|place| self.entries.get_mut(*place))
    }

    fn len(&self) -> u64 {
        let Self { entries, outcomes, candidates, ends, steps, .. } = self;
        (entries.len() + outcomes.len() + candidates.len() + ends.len() + steps.len()) as u64
    }

    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Gives the numbers of the failures that candidates spoke of and that are not in the journal.
    fn write(&self, to: &super::log::Batch<'_>) -> rusqlite::Result<Vec<u64>> {
        self.entries.iter().try_for_each(|entry| to.add(entry))?;
        // Of entries that were dropped there is nothing to complete.
        self.outcomes.iter().try_for_each(|(id, outcome)| to.set_outcome(*id, outcome).map(drop))?;
        let mut early = Vec::new();
        for (id, candidate) in &self.candidates {
            if !to.set_candidate(*id, candidate)? {
                early.push(*id);
            }
        }
        self.ends.iter().try_for_each(|end| to.add_end(end))?;
        self.steps.iter().try_for_each(|step| to.add_step(step))?;
        Ok(early)
    }
}

/// Sets a damaged file aside, and says so.
fn begin_anew(file: &Path) -> std::io::Result<()> {
    let kept_as = set_aside(file)?;
    warn!(file = %file.display(), kept_as = %kept_as.display(), "the journal was damaged and is set aside; a new one is begun");
    Ok(())
}
