//! What was taken of a topic, kept in the group's position.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use rdkafka::consumer::{CommitMode, Consumer as _};
use rdkafka::error::KafkaError;
use rdkafka::{Offset, TopicPartitionList};
use tokio_util::sync::CancellationToken;

use super::Client;
use super::passed::Passed;
use crate::broker::{BrokerError, Browsing, SettleError, Settlement, Settler};

pub(super) struct Taken {
    topic: String,
    /// `None` once the browser is closed. Locked while a commit is under way: they are in order, and each has what the one
    /// before it has.
    client: tokio::sync::Mutex<Option<Arc<Client>>>,
    /// By the partition's number. What is taken is in it once the broker has it.
    passed: Mutex<Vec<Passed>>,
    lost: CancellationToken,
}

impl Taken {
    pub(super) fn new(client: Arc<Client>, topic: &str, passed: Vec<Passed>, lost: CancellationToken) -> Self {
        Self {
            topic: topic.to_owned(),
            client: tokio::sync::Mutex::new(Some(client)),
            passed: Mutex::new(passed),
            lost,
        }
    }

    pub(super) fn lost(&self) -> CancellationToken {
        self.lost.clone()
    }

    /// Notes that records are not there, and says whether the one at `offset` was not taken before.
    pub(super) fn look(&self, partition: i32, absent: Range<i64>, offset: i64) -> bool {
        let mut passed = self.lock();
        let Some(passed) = usize::try_from(partition).ok().and_then(|number| passed.get_mut(number)) else {
            return false;
        };
        passed.pass(absent);
        !passed.is_passed(offset)
    }

    /// Whether one more could be remembered.
    pub(super) fn room(&self) -> Result<(), BrokerError> {
        if self.lock().iter().all(Passed::has_room) {
            return Ok(());
        }
        Err(BrokerError::Unfit(format!(
            "no more letters of topic '{}' can be taken from behind those that stay: what was taken does not fit into the \
             group's position; redrive the first ones too, or put them on another topic with --to",
            self.topic
        )))
    }

    pub(super) async fn close(&self) {
        drop(self.client.lock().await.take());
    }

    pub(super) fn settler(taken: &Arc<Self>, partition: i32, offset: i64, purpose: Browsing) -> Arc<dyn Settler> {
        Arc::new(Record { taken: Arc::clone(taken), partition, offset, purpose })
    }

    async fn take(&self, partition: i32, offset: i64) -> Result<(), SettleError> {
        let gone = |why: &str| SettleError::Gone(why.to_owned());
        if self.lost.is_cancelled() {
            return Err(gone("the partitions were given to another redrive"));
        }
        let client = self.client.lock().await;
        let Some(committing) = client.clone() else { return Err(gone("the topic is read no more")) };
        let place = usize::try_from(partition).ok();
        let passed = place.and_then(|place| self.lock().get(place).cloned());
        let Some(mut passed) = passed else { return Err(gone("there is no such partition")) };
        passed.pass(offset..offset + 1);
        let (topic, position, beside) = (self.topic.clone(), passed.position(), passed.written());
        let committed = tokio::task::spawn_blocking(move || {
            let mut positions = TopicPartitionList::new();
            let mut place = positions.add_partition(&topic, partition);
            place.set_offset(Offset::Offset(position))?;
            place.set_metadata(beside);
            committing.commit(&positions, CommitMode::Sync)
        });
        let committed = committed.await.map_err(|error| SettleError::Retry(error.to_string()))?;
        committed.map_err(|error: KafkaError| SettleError::Retry(error.to_string()))?;
        let mut all = self.lock();
        if let Some(passed) = place.and_then(|place| all.get_mut(place)) {
            passed.pass(offset..offset + 1);
        }
        drop(all);
        drop(client);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Passed>> {
        // Each change is one step.
        self.passed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One record, which stays where it is unless it is acknowledged.
struct Record {
    taken: Arc<Taken>,
    partition: i32,
    offset: i64,
    purpose: Browsing,
}

#[async_trait]
impl Settler for Record {
    async fn settle(&self, settlement: Settlement) -> Result<(), SettleError> {
        match (settlement, self.purpose) {
            (Settlement::Reject | Settlement::Release, _) => Ok(()),
            (Settlement::Ack, Browsing::Look) => Err(SettleError::Gone("it was only looked at".to_owned())),
            (Settlement::Ack, Browsing::Take) => self.taken.take(self.partition, self.offset).await,
        }
    }
}
