//! A topic's logs and leases.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A stored message.
#[derive(Clone)]
pub(super) struct Record {
    pub(super) key: Option<Vec<u8>>,
    pub(super) payload: Vec<u8>,
    /// Unix seconds.
    pub(super) stored: u64,
    /// Before this, it is in nobody's log yet.
    visible: SystemTime,
    /// How often it was handed over.
    handed_over: u32,
}

struct Lease {
    nonce: u64,
    ends: Instant,
}

#[derive(Default)]
struct Partition {
    log: Vec<Record>,
    /// All below it are settled.
    frontier: usize,
    /// What is settled above it.
    settled: BTreeSet<usize>,
    leases: HashMap<usize, Lease>,
}

impl Partition {
    fn settle(&mut self, offset: usize) {
        self.settled.insert(offset);
        while self.settled.remove(&self.frontier) {
            self.frontier += 1;
        }
    }

    /// What is not settled, due or not.
    fn open(&self) -> impl Iterator<Item = (usize, &Record)> {
        let records = self.log.iter().enumerate().skip(self.frontier);
        records.filter(|(offset, _)| !self.settled.contains(offset))
    }
}

/// A message that is handed over.
pub(super) struct Taken {
    pub(super) partition: usize,
    pub(super) offset: usize,
    pub(super) record: Record,
    pub(super) handle: String,
    /// It was handed over before.
    pub(super) again: bool,
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

    /// Stores a message at this time, to be seen after a delay: of one key in one partition, else in each in turn.
    pub(super) fn append(&mut self, key: Option<Vec<u8>>, payload: Vec<u8>, at: SystemTime, delay: Duration) {
        let partition = match &key {
            Some(key) => key.iter().fold(0_usize, |sum, byte| sum.wrapping_mul(31).wrapping_add((*byte).into())),
            None => self.next,
        };
        self.next += 1;
        let stored = at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let count = self.partitions.len();
        let record = Record { key, payload, stored, visible: at + delay, handed_over: 0 };
        self.partitions[partition % count].log.push(record);
    }

    /// Takes up to `most` messages, of all partitions in turn.
    pub(super) fn take(&mut self, most: usize, nonces: &mut u64) -> Vec<Taken> {
        let (now, time) = (Instant::now(), SystemTime::now());
        let mut taken = Vec::new();
        for (number, partition) in self.partitions.iter_mut().enumerate() {
            partition.leases.retain(|_, lease| lease.ends > now);
            let open = partition.open().filter(|(offset, _)| !partition.leases.contains_key(offset));
            let due = open.filter(|(_, record)| record.visible <= time).map(|(offset, _)| offset);
            for offset in due.take(most - taken.len()).collect::<Vec<_>>() {
                *nonces += 1;
                partition.leases.insert(offset, Lease { nonce: *nonces, ends: now + self.visibility });
                let handle = format!("{number}:{offset}:{nonces}");
                let record = &mut partition.log[offset];
                record.handed_over += 1;
                let again = record.handed_over > 1;
                taken.push(Taken { partition: number, offset, record: record.clone(), handle, again });
            }
        }
        taken
    }

    /// Settles or renews a lease: the status that a single request gets, and what is settled by it.
    pub(super) fn settle(&mut self, handle: &str, extend: Option<bool>) -> (u16, Option<(usize, usize)>) {
        let parts: Option<Vec<u64>> = handle.split(':').map(|part| part.parse().ok()).collect();
        let Some([number, offset, nonce]) = parts.as_deref() else { return (400, None) };
        let (number, offset) = (place(*number), place(*offset));
        let Some(partition) = self.partitions.get_mut(number) else { return (410, None) };
        let now = Instant::now();
        partition.leases.retain(|_, lease| lease.ends > now);
        let Some(lease) = partition.leases.get_mut(&offset).filter(|lease| lease.nonce == *nonce) else {
            return (410, None);
        };
        match extend {
            Some(true) => lease.ends = now + self.visibility,
            Some(false) => drop(partition.leases.remove(&offset)),
            None => {
                partition.leases.remove(&offset);
                partition.settle(offset);
                return (204, Some((number, offset)));
            }
        }
        (204, None)
    }

    /// What was settled, or handed over, before a restart.
    pub(super) fn restore_settled(&mut self, partition: usize, offset: usize) {
        self.partitions[partition].settle(offset);
    }

    /// Whether it was not for the first time.
    pub(super) fn restore_taken(&mut self, partition: usize, offset: usize) -> bool {
        let record = &mut self.partitions[partition].log[offset];
        record.handed_over += 1;
        record.handed_over > 1
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
        let now = SystemTime::now();
        // A topic's messages are all due after the same time, so those that are not yet are the last.
        self.partitions.iter().map(|partition| partition.log.partition_point(|record| record.visible <= now)).collect()
    }

    /// What of each partition is above the first message that is not settled.
    pub(super) fn lags(&self) -> Vec<usize> {
        let lag = |(partition, end): (&Partition, usize)| end.saturating_sub(partition.frontier);
        self.partitions.iter().zip(self.ends()).map(lag).collect()
    }

    pub(super) fn read(&self, partition: usize, offset: usize) -> Option<&Record> {
        self.partitions.get(partition)?.log.get(offset).filter(|record| record.visible <= SystemTime::now())
    }

    /// What is due and not settled, leased or not.
    pub(super) fn open(&self) -> Vec<Record> {
        let now = SystemTime::now();
        self.unsettled().filter(|record| record.visible <= now).cloned().collect()
    }

    /// What is not settled, due or not.
    pub(super) fn unsettled(&self) -> impl Iterator<Item = &Record> {
        self.partitions.iter().flat_map(Partition::open).map(|(_, record)| record)
    }

    /// How many messages could be taken now.
    pub(super) fn ready(&self) -> usize {
        self.open().len().saturating_sub(self.leased())
    }
}

fn place(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
