//! What the routes tell the journal, on its way to the file. Nothing here waits: what does not fit is dropped and counted.

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tracing::warn;

use super::worker::{Command, Worker};
use super::{Candidate, End, Keeping, Outcome, Step};
use crate::event::{EventKind, Subject};
use crate::failure::Failure;
use crate::observer::JournalMetrics;
use crate::timestamp::Timestamp;
use crate::verdict::Decision;

/// What may wait for the thread. It looks several times a second.
const QUEUE: usize = 16_384;

/// The bytes that what waits may keep in memory: bodies, and the rest by an estimate.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// What a failure takes beside what its sender and its handler can make large.
const FAILURE_BYTES: u64 = 1024;

/// How a journal is kept.
#[derive(Debug, Clone)]
pub struct JournalSettings {
    /// The file; it and its folder are made where they are missing.
    pub file: PathBuf,
    /// The name of the host in it.
    pub host: String,
    /// Older entries are taken out.
    pub max_age: Duration,
    /// The oldest entries are taken out of a file that is larger, in bytes.
    pub max_size: u64,
    /// What of each failure is kept.
    pub keeping: Keeping,
}

/// A journal that a host writes. Clones write the same one.
#[derive(Debug, Clone)]
pub struct Journal(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    file: PathBuf,
    queue: mpsc::Sender<Command>,
    /// The bytes that what waits keeps in memory.
    bytes: Arc<AtomicU64>,
    tickets: AtomicU64,
    metrics: JournalMetrics,
    trouble: Arc<Mutex<Option<String>>>,
}

/// Names one failure among those of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticket(NonZeroU64);

impl Ticket {
    /// The failures of this process up to this one, itself included.
    pub(super) const fn number(self) -> u64 {
        self.0.get()
    }
}

impl Journal {
    /// Starts the thread that writes. The file is opened by it, again and again where that fails.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(settings: JournalSettings, metrics: JournalMetrics) -> std::io::Result<Self> {
        let (queue, commands) = mpsc::channel(QUEUE);
        let (bytes, trouble) = (Arc::new(AtomicU64::new(0)), Arc::default());
        let file = settings.file.clone();
        let worker = Worker::new(settings, Arc::clone(&bytes), metrics.clone(), Arc::clone(&trouble));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        std::thread::Builder::new().name("journal".to_owned()).spawn(move || worker.run(commands, &runtime))?;
        Ok(Self(Arc::new(Shared { file, queue, bytes, tickets: AtomicU64::new(0), metrics, trouble })))
    }

    /// The file.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.0.file
    }

    /// Why nothing is written at the moment, where that is so.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        self.0.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A name for the failure that is judged next.
    #[must_use]
    pub fn ticket(&self) -> Ticket {
        let before = self.0.tickets.fetch_add(1, Ordering::Relaxed);
        Ticket(NonZeroU64::MIN.saturating_add(before))
    }

    /// A failure was judged.
    pub fn failed(&self, ticket: Ticket, route: &Arc<str>, failure: &Arc<Failure>, decision: &Decision) {
        let size = FAILURE_BYTES + size(failure);
        if self.0.bytes.fetch_add(size, Ordering::Relaxed) > MOST_BYTES {
            self.0.bytes.fetch_sub(size, Ordering::Relaxed);
            self.0.metrics.lost("memory", 1);
            return;
        }
        let (route, failure) = (Arc::clone(route), Arc::clone(failure));
        if !self.send(Command::Failed { ticket, route, failure, decision: decision.clone(), size }) {
            self.0.bytes.fetch_sub(size, Ordering::Relaxed);
        }
    }

    /// What became of a failure is durable.
    pub fn outcome(&self, ticket: Ticket, outcome: Outcome) {
        self.send(Command::Outcome { ticket, outcome });
    }

    /// What a candidate said of a failure.
    pub fn candidate(&self, ticket: Ticket, candidate: Candidate) {
        self.send(Command::Candidate { ticket, candidate });
    }

    /// A step of a route's policies.
    pub fn step(&self, step: Step) {
        self.send(Command::Step(Box::new(step)));
    }

    /// Takes from an event what no failure tells: how a message left its route that had failed, and swaps of policies.
    pub(crate) fn observe(&self, route: &Arc<str>, event: &EventKind) {
        match event {
            EventKind::PolicySwapped { .. } => Step::of_swap(route, event).into_iter().for_each(|step| self.step(step)),
            EventKind::CandidateChanged { .. } => {
                Step::of_candidate(route, event).into_iter().for_each(|step| self.step(step));
            }
            _ => {
                if let Some(end) = End::of(route, event, Timestamp::now()) {
                    self.send(Command::End(end));
                }
            }
        }
    }

    /// Returns once everything that was told before is in the file, or after `patience`.
    pub async fn flush(&self, patience: Duration) {
        let (done, flushed) = oneshot::channel();
        let wait = async {
            // The place in the queue is behind all that is to be written.
            self.0.queue.send(Command::Flush(done)).await.is_ok() && flushed.await.is_ok()
        };
        if timeout(patience, wait).await != Ok(true) {
            warn!(file = %self.0.file.display(), "the last entries are not in the journal: it could not be written in time");
        }
    }

    fn send(&self, command: Command) -> bool {
        let sent = self.0.queue.try_send(command).is_ok();
        if !sent {
            self.0.metrics.lost("queue-full", 1);
        }
        sent
    }
}

/// What of a failure can be large, in bytes.
fn size(failure: &Failure) -> u64 {
    let Failure { message, error, .. } = failure;
    let headers: usize = message.headers.iter().map(|(name, value)| name.len() + value.size()).sum();
    (message.body_size() + headers + error.text.len() + error.detail.as_ref().map_or(0, String::len)) as u64
}

impl End {
    /// The end that an event tells of, where the message had failed before.
    fn of(route: &Arc<str>, event: &EventKind, at: Timestamp) -> Option<Self> {
        use super::EndKind;
        let (subject, kind, detail) = match event {
            EventKind::Consumed { subject, error: None } if subject.attempt > 1 => (subject, EndKind::Succeeded, None),
            // Else every duplicate would be in it, also of messages that succeeded at once.
            EventKind::Skipped { subject, why } if subject.attempt > 0 => {
                (subject, EndKind::Skipped, Some(why.name().to_owned()))
            }
            EventKind::Released { subject, why } if subject.attempt > 0 => {
                (subject, EndKind::Released, Some((*why).to_owned()))
            }
            _ => return None,
        };
        let Subject { id, attempt, .. } = subject;
        Some(Self { at, route: route.to_string(), message_id: id.clone(), attempt: *attempt, kind, detail })
    }
}

impl Step {
    fn of_candidate(route: &Arc<str>, event: &EventKind) -> Option<Self> {
        use super::StepKind;
        use crate::event::CandidateStep;
        let EventKind::CandidateChanged { step, maker, file, decisions, faults, reason } = event else { return None };
        let file = file.as_ref();
        Some(Self {
            at: Timestamp::now(),
            route: route.to_string(),
            kind: match step {
                CandidateStep::Began => StepKind::CandidateBegan,
                CandidateStep::Rejected => StepKind::Rejected,
                CandidateStep::Withdrawn => StepKind::Withdrawn,
                CandidateStep::Promoted => StepKind::Promoted,
                CandidateStep::Held => StepKind::Held,
                CandidateStep::Resumed => StepKind::Resumed,
                CandidateStep::RolledBack => StepKind::RolledBack,
            },
            maker: maker.clone(),
            replaced: None,
            digest: file.map(|file| file.digest.clone()),
            size: file.map(|file| file.size),
            signed_by: file.and_then(|file| file.signed_by.clone()),
            decisions: Some(*decisions),
            faults: Some(*faults),
            reason: reason.clone(),
        })
    }

    /// What a swap means for the history: one revision left, another went live.
    fn of_swap(route: &Arc<str>, event: &EventKind) -> Vec<Self> {
        use super::StepKind;
        let EventKind::PolicySwapped { from, to, file } = event else { return Vec::new() };
        let at = Timestamp::now();
        let step = |kind, maker: &crate::verdict::Maker, reason: String| Self {
            at,
            route: route.to_string(),
            kind,
            maker: Some(maker.clone()),
            replaced: None,
            digest: None,
            size: None,
            signed_by: None,
            decisions: None,
            faults: None,
            reason,
        };
        let left = from.as_ref().map(|from| step(StepKind::Left, from, format!("{to} took its place")));
        let live = Self {
            replaced: from.clone(),
            digest: Some(file.digest.clone()),
            size: Some(file.size),
            signed_by: file.signed_by.clone(),
            ..step(StepKind::WentLive, to, file.source.to_owned())
        };
        left.into_iter().chain([live]).collect()
    }
}

#[cfg(test)]
mod tests;
