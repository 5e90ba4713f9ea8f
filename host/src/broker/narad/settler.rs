//! Settles deliveries. What is settled while a request is under way goes together with the next.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::{Semaphore, mpsc, oneshot};

use super::acks::{Answer, MOST_HANDLES, Mode, settle_many};
use super::leases::{Lease, Leases};
use super::nodes::Nodes;
use crate::broker::{SettleError, Settlement, Settler};

/// A node that does not answer a settle within this is asked again.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// Requests under way of one consumer. One that gets no answer must not hold up the others.
const MOST_REQUESTS: usize = 8;

/// One lease to tell of.
pub(super) struct Errand {
    lease: Arc<Lease>,
    mode: Mode,
    answer: oneshot::Sender<Answer>,
}

/// Takes errands until nobody has any more.
pub(super) async fn run_errands(nodes: Arc<Nodes>, mut errands: mpsc::UnboundedReceiver<Errand>) {
    let requests = Arc::new(Semaphore::new(MOST_REQUESTS));
    loop {
        let Ok(request) = Arc::clone(&requests).acquire_owned().await else { return };
        let mut some = Vec::new();
        if errands.recv_many(&mut some, MOST_HANDLES).await == 0 {
            return;
        }
        let nodes = Arc::clone(&nodes);
        tokio::spawn(async move {
            let mut groups: HashMap<(Arc<str>, Mode), Vec<Errand>> = HashMap::new();
            for errand in some {
                groups.entry((Arc::clone(&errand.lease.place.topic), errand.mode)).or_default().push(errand);
            }
            let told = groups.into_iter().map(|((topic, mode), group)| tell(&nodes, topic, mode, group));
            futures_util::future::join_all(told).await;
            drop(request);
        });
    }
}

async fn tell(nodes: &Nodes, topic: Arc<str>, mode: Mode, group: Vec<Errand>) {
    let handles: Vec<&str> = group.iter().map(|errand| errand.lease.handle.as_str()).collect();
    let answers = settle_many(nodes, &topic, &handles, mode, ANSWER_TIMEOUT).await;
    for (errand, answer) in group.into_iter().zip(answers) {
        // Whoever asked may have stopped waiting.
        drop(errand.answer.send(answer));
    }
}

/// Settles one delivery by its lease.
pub(super) struct NaradSettler {
    pub(super) number: u64,
    pub(super) lease: Arc<Lease>,
    pub(super) leases: Arc<Leases>,
    pub(super) errands: mpsc::UnboundedSender<Errand>,
    pub(super) settled: AtomicBool,
}

impl NaradSettler {
    async fn ask(&self, mode: Mode) -> Answer {
        let (answer, answered) = oneshot::channel();
        let unsent = || Answer::Later { in_doubt: false, why: "the consumer has ended".to_owned() };
        if self.errands.send(Errand { lease: Arc::clone(&self.lease), mode, answer }).is_err() {
            return unsent();
        }
        answered.await.unwrap_or_else(|_| unsent())
    }

    fn end(&self) {
        self.settled.store(true, Ordering::Relaxed);
        self.leases.release(self.number);
    }
}

#[async_trait]
impl Settler for NaradSettler {
    /// May be called again after [`SettleError::Retry`]: the lease is kept meanwhile.
    async fn settle(&self, settlement: Settlement) -> Result<(), SettleError> {
        if self.settled.load(Ordering::Relaxed) {
            return Err(SettleError::Gone("it was settled before".to_owned()));
        }
        if self.lease.lost.is_cancelled() {
            return Err(SettleError::Gone("its lease has ended".to_owned()));
        }
        let mode = match settlement {
            Settlement::Ack => Mode::Ack,
            Settlement::Reject | Settlement::Release => Mode::Nack,
        };
        match self.ask(mode).await {
            Answer::Done => {
                self.end();
                Ok(())
            }
            // A try whose answer was lost has given it back, or it has gone back by itself.
            Answer::Gone if self.lease.is_in_doubt() && mode == Mode::Nack => {
                self.end();
                Ok(())
            }
            // As good as done, and remembered by whoever hears this, in case that try never arrived (rule 13).
            Answer::Gone if self.lease.is_in_doubt() => {
                self.end();
                Err(SettleError::Gone("an ack without an answer has ended its lease, in all likelihood".to_owned()))
            }
            Answer::Gone => {
                self.leases.lose(self.number);
                Err(SettleError::Gone("its lease has ended".to_owned()))
            }
            Answer::Later { in_doubt, why } => {
                if in_doubt {
                    self.lease.doubt();
                }
                Err(SettleError::Retry(why))
            }
        }
    }
}
