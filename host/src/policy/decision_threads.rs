//! The threads that decisions run on.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::engine::Revision;
use crate::failure::Failure;
use crate::verdict::{Fault, FaultKind, Verdict};

/// Threads of the system's, so that a policy that uses up its deadline holds up no task. At most half of them, and at
/// least one, are busy for one policy: the others' decisions go on while it misbehaves. Where all are busy, decisions
/// wait their turn. The threads end once this is dropped and what was begun is done.
#[derive(Debug)]
pub struct DecisionThreads {
    jobs: Sender<Job>,
    /// How many threads one policy may keep busy.
    share: usize,
    /// The turns of each policy, by its name.
    turns: Mutex<HashMap<String, Arc<Semaphore>>>,
}

struct Job {
    revision: Arc<Revision>,
    failure: Arc<Failure>,
    answer: oneshot::Sender<Result<Verdict, Fault>>,
    _turn: OwnedSemaphorePermit,
}

impl DecisionThreads {
    /// Starts `count` threads, at least one.
    ///
    /// # Panics
    /// Where the system gives no more threads.
    #[must_use]
    pub fn start(count: usize) -> Self {
        let count = count.max(1);
        let (jobs, queue) = channel();
        let queue = Arc::new(Mutex::new(queue));
        for number in 0..count {
            let queue = Arc::clone(&queue);
            thread::Builder::new()
                .name(format!("policy-{number}"))
                .spawn(move || work(&queue))
                .expect("the system gives the program the threads that it starts with");
        }
        Self { jobs, share: (count / 2).max(1), turns: Mutex::default() }
    }

    /// Judges a failure on one of the threads, once it is this policy's turn. Dropping the future gives the turn up, or
    /// lets a decision that is under way end unheard.
    ///
    /// # Errors
    /// How the policy failed to give a verdict.
    pub async fn decide(&self, revision: Arc<Revision>, failure: Arc<Failure>) -> Result<Verdict, Fault> {
        let turns = self.turns(&revision.maker().policy);
        let lost = || Fault::new(FaultKind::Trap, "the decision was lost: a defect of the host, please report it");
        let _turn = turns.acquire_owned().await.map_err(|_| lost())?;
        let (answer, answered) = oneshot::channel();
        self.jobs.send(Job { revision, failure, answer, _turn }).map_err(|_| lost())?;
        answered.await.unwrap_or_else(|_| Err(lost()))
    }

    fn turns(&self, policy: &str) -> Arc<Semaphore> {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = turns.get(policy) {
            return Arc::clone(known);
        }
        // Policies that are gone, so that names do not pile up.
        turns.retain(|_, semaphore| Arc::strong_count(semaphore) > 1);
        let new = Arc::new(Semaphore::new(self.share));
        turns.insert(policy.to_owned(), Arc::clone(&new));
        new
    }
}

fn work(queue: &Mutex<Receiver<Job>>) {
    loop {
        // The one idle thread that holds the lock waits for a job; the others wait for the lock.
        let job = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(Job { revision, failure, answer, _turn }) = job else { return };
        if answer.is_closed() {
            continue;
        }
        // A panic here is a defect of the host. It costs this decision, not the thread.
        if let Ok(result) = catch_unwind(AssertUnwindSafe(|| revision.decide(&failure))) {
            // Whoever asked may be gone by now.
            let _ = answer.send(result);
        }
    }
}
