//! All topics, and the file that keeps them.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result};

use super::counts::Counts;
use super::journal::{self, Event};
use super::topic::{Taken, Topic};

/// All topics, by name.
#[derive(Default)]
pub(super) struct Topics {
    pub(super) topics: BTreeMap<String, Topic>,
    pub(super) counts: Counts,
    nonces: u64,
    /// The handles that somebody wanted to ack.
    acked: HashSet<String>,
    file: Option<File>,
}

impl Topics {
    /// Those in this file, and what comes is added to it. A process that is killed loses nothing that it has answered; a machine
    /// that loses power may.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let (mut topics, mut refused) = (Self::default(), None);
        let file = journal::open(path, |event| {
            if topics.apply(event).is_none() {
                refused.get_or_insert(path);
            }
        })?;
        anyhow::ensure!(refused.is_none(), "{} speaks of topics that it does not make", path.display());
        // No handle from before is valid again.
        topics.nonces = u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_micros())?;
        topics.file = Some(file);
        Ok(topics)
    }

    /// Makes a topic, also of one that is there.
    pub(super) fn create(&mut self, name: &str, topic: Topic) {
        self.write(|| Event::created(name, &topic));
        if let Some(parent) = topic.parent.as_ref().and_then(|parent| self.topics.get_mut(parent)) {
            parent.children.push(name.to_owned());
        }
        self.topics.insert(name.to_owned(), topic);
    }

    /// Stores a message on a topic and, when it is due, on each child.
    pub(super) fn produce(&mut self, name: &str, key: Option<Vec<u8>>, payload: Vec<u8>) {
        let at = SystemTime::now();
        self.write(|| Event::produced(name, key.as_deref(), &payload, at));
        self.append(name, key, payload, at);
    }

    /// Takes up to `most` messages of a topic that is there.
    pub(super) fn take(&mut self, name: &str, most: usize) -> Option<Vec<Taken>> {
        let taken = self.topics.get_mut(name)?.take(most, &mut self.nonces);
        for Taken { partition, offset, again, .. } in &taken {
            self.counts.taken(*again);
            self.write(|| Event::Taken { topic: name.to_owned(), partition: *partition, offset: *offset });
        }
        Some(taken)
    }

    /// Settles or renews a lease of a topic that is there: the status that a single request gets.
    pub(super) fn settle(&mut self, name: &str, handle: &str, extend: Option<bool>) -> Option<u16> {
        let (status, settled) = self.topics.get_mut(name)?.settle(handle, extend);
        if let Some((partition, offset)) = settled {
            self.write(|| Event::Settled { topic: name.to_owned(), partition, offset });
        }
        if let (Some(false), 204) = (extend, status) {
            self.counts.given_back += 1;
            self.write(|| Event::GivenBack);
        }
        Some(status)
    }

    /// Counts a request to ack, whatever becomes of it.
    pub(super) fn asked_to_ack(&mut self, handle: &str) {
        self.write(|| Event::Asked { handle: handle.to_owned() });
        self.counts.asked_to_ack(self.acked.insert(handle.to_owned()));
    }

    /// Counts an answer to one.
    pub(super) fn answered_ack(&mut self, status: u16) {
        self.write(|| Event::Answered { status });
        self.counts.answered(status);
    }

    fn append(&mut self, name: &str, key: Option<Vec<u8>>, payload: Vec<u8>, at: SystemTime) -> Option<()> {
        let topic = self.topics.get_mut(name)?;
        topic.append(key.clone(), payload.clone(), at, Duration::ZERO);
        for child in topic.children.clone() {
            if let Some(child) = self.topics.get_mut(&child) {
                let delay = Duration::from_millis(child.delay_ms);
                child.append(key.clone(), payload.clone(), at, delay);
            }
        }
        Some(())
    }

    /// What happened before a restart.
    fn apply(&mut self, event: Event) -> Option<()> {
        match event {
            Event::Created { name, topic } => self.create(&name, topic.into()),
            Event::Produced { topic, key, payload, at } => {
                let at = UNIX_EPOCH + Duration::from_millis(at);
                self.append(&topic, key.map(journal::bytes), journal::bytes(payload), at)?;
            }
            Event::Taken { topic, partition, offset } => {
                self.counts.taken(self.topics.get_mut(&topic)?.restore_taken(partition, offset));
            }
            Event::Settled { topic, partition, offset } => {
                self.topics.get_mut(&topic)?.restore_settled(partition, offset);
            }
            Event::GivenBack => self.counts.given_back += 1,
            Event::Asked { handle } => self.counts.asked_to_ack(self.acked.insert(handle)),
            Event::Answered { status } => self.counts.answered(status),
        }
        Some(())
    }

    fn write(&mut self, event: impl FnOnce() -> Event) {
        if let Some(file) = &mut self.file {
            let line = journal::line(&event());
            // Without its file it must not go on as if it had one.
            file.write_all(&line).context("cannot write the topics' file").expect("a disk with room");
        }
    }
}
