//! A record that is out, and how it is settled.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use super::partition::Partition;
use super::remembered::digest;
use super::shared::Shared;
use super::window::Ticket;
use crate::broker::{Delivery, Earlier, Origin, Position, SettleError, Settlement, Settler};
use crate::message::Message;

/// How long a suspect waits for a commit that notes its attempt.
const LONGEST_NOTE: Duration = Duration::from_secs(5);

/// A record in the window of its partition.
pub(super) struct Out {
    pub(super) partition: Arc<Partition>,
    pub(super) ticket: Ticket,
    pub(super) offset: i64,
    pub(super) message: Arc<Message>,
    pub(super) redelivered: bool,
    pub(super) earlier: Earlier,
    /// One of as many as may be unsettled, from the time that it is handed out.
    pub(super) permit: Option<OwnedSemaphorePermit>,
}

impl Out {
    /// Its outcome is durable.
    pub(super) fn decide(&self, shared: &Shared) -> Result<(), SettleError> {
        let digest = digest(&self.message);
        match self.partition.with(|window| window.decide(self.ticket, digest)) {
            Some(makes_room) => {
                if makes_room {
                    shared.wake();
                }
                Ok(())
            }
            None => {
                shared.remembered.decide(&self.partition.place, self.offset, digest);
                Err(gone())
            }
        }
    }

    pub(super) fn delivery(mut self, shared: &Arc<Shared>) -> Delivery {
        // It may have been read before its former hand-over came to an end.
        if shared.remembered.take(&self.partition.place, self.offset, || digest(&self.message)) {
            (self.redelivered, self.earlier) = (true, Earlier::Done);
        }
        let place = &self.partition.place;
        let position = Position {
            topic: Arc::clone(&place.topic),
            partition: place.partition,
            offset: self.offset,
            group: Arc::clone(&place.group),
        };
        Delivery {
            message: Arc::clone(&self.message),
            origin: Origin { position: Some(Box::new(position)), ..Origin::default() },
            redelivered: self.redelivered,
            earlier: self.earlier,
            lost: self.partition.lost.clone(),
            settler: Arc::new(KafkaSettler {
                permit: Mutex::new(self.permit),
                out: Out { permit: None, ..self },
                shared: Arc::clone(shared),
                settled: AtomicBool::new(false),
            }),
        }
    }
}

fn gone() -> SettleError {
    SettleError::Gone("the partition is no longer assigned here".to_owned())
}

/// Settles one hand-over of a record, in the assignment that it came by (rule 13). Nothing here waits for the broker: what is
/// decided is committed with the position, again and again until it is confirmed or the assignment has ended (rule 15).
struct KafkaSettler {
    out: Out,
    /// Goes back with the record.
    permit: Mutex<Option<OwnedSemaphorePermit>>,
    shared: Arc<Shared>,
    settled: AtomicBool,
}

impl KafkaSettler {
    fn give_back(&self, must: bool) -> Result<(), SettleError> {
        let out = &self.out;
        let Some(may) = out.partition.with(|window| must || window.may_return(out.ticket)) else { return Err(gone()) };
        // It stays undecided for the next owner.
        if self.shared.is_stopped() {
            return Ok(());
        }
        if !may {
            let Position { topic, partition, .. } = self.position();
            return Err(SettleError::NoRoom(format!(
                "it is the only undecided record of a full window of {topic}, partition {partition}, and holds the others up"
            )));
        }
        let permit = self.permit.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.shared.give_back(Out {
            partition: Arc::clone(&out.partition),
            ticket: out.ticket,
            offset: out.offset,
            message: Arc::clone(&out.message),
            redelivered: true,
            earlier: Earlier::Nothing,
            permit,
        });
        Ok(())
    }

    fn position(&self) -> Position {
        let place = &self.out.partition.place;
        Position {
            topic: Arc::clone(&place.topic),
            partition: place.partition,
            offset: self.out.offset,
            group: Arc::clone(&place.group),
        }
    }
}

#[async_trait]
impl Settler for KafkaSettler {
    async fn settle(&self, settlement: Settlement) -> Result<(), SettleError> {
        if self.settled.swap(true, Ordering::AcqRel) {
            return Err(SettleError::Gone("it was settled before".to_owned()));
        }
        let result = match settlement {
            Settlement::Ack => self.out.decide(&self.shared),
            Settlement::Reject => self.give_back(false),
            Settlement::Release => self.give_back(true),
        };
        if matches!(result, Err(SettleError::NoRoom(_))) {
            self.settled.store(false, Ordering::Release);
        } else {
            // Whoever settled it may keep it, and another may be unsettled in its place.
            drop(self.permit.lock().unwrap_or_else(PoisonError::into_inner).take());
        }
        result
    }

    fn attempt_begins(&self) {
        self.out.partition.with(|window| window.begin(self.out.ticket));
    }

    fn attempt_ends(&self) {
        self.out.partition.with(|window| window.end(self.out.ticket));
    }

    async fn note_interruptions(&self, count: u32) -> Result<(), SettleError> {
        let Some(number) = self.out.partition.with(|window| window.note(self.out.ticket, count)) else {
            return Err(gone());
        };
        self.shared.commit_soon();
        let noted = self.out.partition.lost.run_until_cancelled(self.out.partition.noted(number));
        match timeout(LONGEST_NOTE, noted).await {
            Ok(Some(())) => Ok(()),
            Ok(None) => Err(gone()),
            Err(_) => Err(SettleError::Retry(format!("no commit was confirmed within {LONGEST_NOTE:?}"))),
        }
    }
}
