//! A topic's logs and leases.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A stored message.
#[derive(Clone)]
pub(super) struct Record {
    pub(super) key: Option<Vec<u8>>,
    pub(super) payload: Vec<u8>,
    /// Unix seconds.
    pub(super) stored: u64,
    /// Before this, it is in nobody's log yet.
    visible: Instant,
}

struct Lease {
    nonce: u64,
    ends: Instant,
}

#[derive(Default)]
struct Partition {
    log: Vec<Record>,
    settled: BTreeSet<usize>,
    leases: HashMap<usize, Lease>,
}

/// A message that is handed over.
pub(super) struct Taken {
    pub(super) partition: usize,
    pub(super) offset: usize,
    pub(super) record: Record,
    pub(super) handle: String,
}

/// A topic.
pub(super) struct Topic {
    partitions: Vec<Partition>,
    next: usize,
    pub(super) retention_ms: u64,
    pub(super) visibility: Duration,
    pub(super) parent: Option<String>,
    pub(super) children: Vec<String>,
    pub(super) delay_ms: u64,
    pub(super) schema: bool,
}

impl Topic {
    pub(super) fn new(partitions: usize, retention_ms: u64, visibility: Duration) -> Self {
        Self {
            partitions: (0..partitions).map(|_| Partition::default()).collect(),
            next: 0,
            retention_ms,
            visibility,
            parent: None,
            children: Vec::new(),
            delay_ms: 0,
            schema: false,
        }
    }

    /// Stores a message: of one key in one partition, else in each in turn.
    pub(super) fn append(&mut self, key: Option<Vec<u8>>, payload: Vec<u8>, delay: Duration) {
        let partition = match &key {
            Some(key) => key.iter().fold(0_usize, |sum, byte| sum.wrapping_mul(31).wrapping_add((*byte).into())),
            None => self.next,
        };
        self.next += 1;
        let stored = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let count = self.partitions.len();
        self.partitions[partition % count].log.push(Record { key, payload, stored, visible: Instant::now() + delay });
    }

    /// Takes up to `most` messages, of all partitions in turn.
    pub(super) fn take(&mut self, most: usize, nonces: &mut u64) -> Vec<Taken> {
        let now = Instant::now();
        let mut taken = Vec::new();
        for (number, partition) in self.partitions.iter_mut().enumerate() {
            partition.leases.retain(|_, lease| lease.ends > now);
            for (offset, record) in partition.log.iter().enumerate() {
                if taken.len() >= most {
                    return taken;
                }
                let is_free = !partition.settled.contains(&offset) && !partition.leases.contains_key(&offset);
                if !is_free || record.visible > now {
                    continue;
                }
                *nonces += 1;
                partition.leases.insert(offset, Lease { nonce: *nonces, ends: now + self.visibility });
                let handle = format!("{number}:{offset}:{nonces}");
                taken.push(Taken { partition: number, offset, record: record.clone(), handle });
            }
        }
        taken
    }

    /// Settles or renews a lease: the status that a single request gets.
    pub(super) fn settle(&mut self, handle: &str, extend: Option<bool>) -> u16 {
        let parts: Option<Vec<u64>> = handle.split(':').map(|part| part.parse().ok()).collect();
        let Some([partition, offset, nonce]) = parts.as_deref() else { return 400 };
        let Some(partition) = self.partitions.get_mut(usize::try_from(*partition).unwrap_or(usize::MAX)) else {
            return 410;
        };
        let offset = usize::try_from(*offset).unwrap_or(usize::MAX);
        let now = Instant::now();
        partition.leases.retain(|_, lease| lease.ends > now);
        let Some(lease) = partition.leases.get_mut(&offset).filter(|lease| lease.nonce == *nonce) else { return 410 };
        match extend {
            Some(true) => lease.ends = now + self.visibility,
            Some(false) => drop(partition.leases.remove(&offset)),
            None => {
                partition.leases.remove(&offset);
                partition.settled.insert(offset);
            }
        }
        204
    }

    /// Ends every lease, as a crash does.
    pub(super) fn forget_leases(&mut self) {
        for partition in &mut self.partitions {
            partition.leases.clear();
        }
    }

    pub(super) fn leased(&self) -> usize {
        let now = Instant::now();
        self.partitions.iter().flat_map(|partition| partition.leases.values()).filter(|lease| lease.ends > now).count()
    }

    pub(super) const fn partition_count(&self) -> usize {
        self.partitions.len()
    }

    /// Where each visible log ends.
    pub(super) fn ends(&self) -> Vec<usize> {
        let now = Instant::now();
        self.partitions
            .iter()
            .map(|partition| partition.log.iter().filter(|record| record.visible <= now).count())
            .collect()
    }

    /// What of each partition is above the first message that is not settled.
    pub(super) fn lags(&self) -> Vec<usize> {
        let frontier = |partition: &Partition| (0..).find(|offset| !partition.settled.contains(offset)).unwrap_or(0);
        self.partitions
            .iter()
            .zip(self.ends())
            .map(|(partition, end)| end.saturating_sub(frontier(partition)))
            .collect()
    }

    pub(super) fn read(&self, partition: usize, offset: usize) -> Option<&Record> {
        self.partitions.get(partition)?.log.get(offset).filter(|record| record.visible <= Instant::now())
    }

    /// What is visible and not settled, leased or not.
    pub(super) fn open(&self) -> Vec<Record> {
        let now = Instant::now();
        let open = self.partitions.iter().flat_map(|partition| {
            let records = partition.log.iter().enumerate();
            records.filter(|(offset, _)| !partition.settled.contains(offset)).map(|(_, record)| record)
        });
        open.filter(|record| record.visible <= now).cloned().collect()
    }
}

/// All topics, by name.
#[derive(Default)]
pub(super) struct Topics {
    pub(super) topics: BTreeMap<String, Topic>,
    pub(super) nonces: u64,
}

impl Topics {
    /// Stores a message on a topic and, when it is due, on each child.
    pub(super) fn produce(&mut self, name: &str, key: Option<Vec<u8>>, payload: Vec<u8>) {
        let Some(topic) = self.topics.get_mut(name) else { return };
        topic.append(key.clone(), payload.clone(), Duration::ZERO);
        for child in topic.children.clone() {
            if let Some(child) = self.topics.get_mut(&child) {
                let delay = Duration::from_millis(child.delay_ms);
                child.append(key.clone(), payload.clone(), delay);
            }
        }
    }
}
