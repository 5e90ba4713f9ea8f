//! The one thread that asks shadows, of all routes. What comes while too much waits is not asked about.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::Instant;

use super::Trial;
use crate::failure::Failure;
use crate::journal::{self, Journal, Ticket};
use crate::policy::engine::give_way;
use crate::verdict::{Fault, Verdict};

/// Failures that may wait.
const QUEUE: usize = 256;

/// The bytes of bodies that may wait.
const MOST_BYTES: u64 = 32 * 1024 * 1024;

/// A failure that a shadow is asked about.
struct Job {
    trial: Arc<Trial>,
    failure: Arc<Failure>,
    live: Result<Verdict, Fault>,
    record: Option<(Journal, Ticket)>,
    bytes: u64,
}

/// Asks shadows without anybody waiting for them. The thread ends once this is dropped.
#[derive(Debug)]
pub(in crate::policy) struct Shadows {
    jobs: SyncSender<Job>,
    bytes: Arc<AtomicU64>,
}

impl Shadows {
    /// # Panics
    /// Where the system gives no more threads.
    pub(in crate::policy) fn start() -> Self {
        let (jobs, queue) = sync_channel(QUEUE);
        let bytes = Arc::new(AtomicU64::new(0));
        let waiting = Arc::clone(&bytes);
        thread::Builder::new()
            .name("shadows".to_owned())
            .spawn(move || work(&queue, &waiting))
            .expect("the system gives the program the threads that it starts with");
        Self { jobs, bytes }
    }

    /// Asks, when the thread comes to it.
    pub(in crate::policy) fn ask(
        &self,
        trial: &Arc<Trial>,
        failure: &Arc<Failure>,
        live: &Result<Verdict, Fault>,
        record: Option<(Journal, Ticket)>,
    ) {
        let bytes = failure.message.body_size() as u64;
        if self.bytes.fetch_add(bytes, Ordering::AcqRel) > MOST_BYTES {
            self.bytes.fetch_sub(bytes, Ordering::AcqRel);
            return trial.skip();
        }
        let job = Job { trial: Arc::clone(trial), failure: Arc::clone(failure), live: live.clone(), record, bytes };
        if let Err(TrySendError::Full(job) | TrySendError::Disconnected(job)) = self.jobs.try_send(job) {
            self.bytes.fetch_sub(job.bytes, Ordering::AcqRel);
            job.trial.skip();
        }
    }
}

fn work(queue: &Receiver<Job>, waiting: &AtomicU64) {
    // Decisions that messages wait for come first.
    give_way();
    while let Ok(Job { trial, failure, live, record, bytes }) = queue.recv() {
        if trial.is_shadow() {
            let begin = Instant::now();
            // A panic here is a defect of the host. It costs this comparison, not the thread.
            let decide = std::panic::AssertUnwindSafe(|| trial.revision.decide(&failure));
            match std::panic::catch_unwind(decide) {
                Ok(answer) => {
                    trial.count(&live, &answer, begin.elapsed());
                    if let Some((journal, ticket)) = record {
                        let (mode, maker) = (journal::CandidateMode::Shadow, trial.revision.maker().as_ref().clone());
                        journal.candidate(ticket, journal::Candidate { mode, maker, answer });
                    }
                }
                Err(_) => trial.skip(),
            }
        }
        waiting.fetch_sub(bytes, Ordering::AcqRel);
    }
}
