//! Reads dead letters by replay, which takes nothing and is noticed by nobody.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, Result};
use serde_json::Value;
use tokio::time::sleep;

use super::PAUSE;
use super::client::Client;
use super::record::Letter;
use super::topics::{DEAD_TOPICS, PARTITIONS};
use crate::books::{Books, DeadLetter, number};

pub(super) struct Reader {
    client: Client,
    /// What is read next of each topic and partition.
    next: Mutex<BTreeMap<(&'static str, usize), u64>>,
}

impl Reader {
    pub(super) fn new(client: Client) -> Self {
        Self { client, next: Mutex::default() }
    }

    /// Reads a topic for ever.
    pub(super) async fn read(&self, topic: &'static str, books: &Books) {
        loop {
            for partition in 0..PARTITIONS {
                while let Some(answer) = self.one(topic, partition).await {
                    let Letter { id, made, altered } = Letter::read(&answer, number);
                    let at = books.clock.now();
                    let letter = DeadLetter { at, queue: topic, redelivered: false, made, altered, bare: false };
                    books.dead_letter(&id, letter);
                    *self.next().entry((topic, partition)).or_default() += 1;
                }
            }
            sleep(PAUSE).await;
        }
    }

    /// Waits until all that is on the topics now was written down.
    pub(super) async fn until_read(&self) -> Result<()> {
        for topic in DEAD_TOPICS {
            let (_, shown) = self.client.get(&format!("/v1/topics/{topic}")).await?;
            let shown: Value = serde_json::from_str(&shown).context("a topic that is no JSON")?;
            for partition in 0..PARTITIONS {
                let end =
                    shown["partition_stats"][partition]["next_offset"].as_u64().context("a topic without ends")?;
                while self.offset(topic, partition) < end {
                    sleep(PAUSE).await;
                }
            }
        }
        Ok(())
    }

    /// The next one, where it is there and the node answers.
    async fn one(&self, topic: &'static str, partition: usize) -> Option<String> {
        let offset = self.offset(topic, partition);
        let path = format!("/v1/topics/{topic}/consume?partition={partition}&offset={offset}");
        self.client.get(&path).await.ok().filter(|(status, _)| *status == 200).map(|(_, answer)| answer)
    }

    fn offset(&self, topic: &'static str, partition: usize) -> u64 {
        self.next().get(&(topic, partition)).copied().unwrap_or(0)
    }

    fn next(&self) -> std::sync::MutexGuard<'_, BTreeMap<(&'static str, usize), u64>> {
        self.next.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
