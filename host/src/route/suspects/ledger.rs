//! Suspects on disk: what each start of the host knows of the ends before it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tracing::warn;

use crate::delivery::KnownStarts;
use crate::route::memory::CopyKey;
use crate::timestamp::Timestamp;

const FILE: &str = "suspects.json";

/// Copies that are noted at most; the one noted longest ago is forgotten first.
const CAPACITY: usize = 1000;

/// What is older stands for a copy that another host has dealt with.
const BELIEVED: Duration = Duration::from_secs(24 * 60 * 60);

/// The file, as it was last written or should have been.
#[derive(Debug)]
pub(super) struct Ledger {
    path: PathBuf,
    entries: Mutex<Entries>,
    count: AtomicUsize,
}

type Entries = BTreeMap<String, Entry>;

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Entry {
    starts: u32,
    interruptions: u32,
    at: Timestamp,
}

impl Ledger {
    /// Reads what is there. A file that is damaged is as good as none: it costs some more attempts.
    pub(super) fn open(state: &Path) -> Self {
        let path = state.join(FILE);
        let entries = read(&path).unwrap_or_else(|error| {
            warn!(file = %path.display(), %error, "it cannot be read: which messages ended the host before is not known");
            Entries::new()
        });
        Self { path, count: AtomicUsize::new(entries.len()), entries: Mutex::new(entries) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    pub(super) fn known(&self, key: &CopyKey) -> Option<KnownStarts> {
        let Entry { starts, interruptions, .. } = *self.lock().get(&key.to_string())?;
        Some(KnownStarts { starts, interruptions, requeues: 0 })
    }

    /// Puts what is true if the host ends now on disk, before it can end.
    pub(super) fn note(&self, key: &CopyKey, known: KnownStarts) -> io::Result<()> {
        let mut entries = self.lock();
        if entries.len() >= CAPACITY && !entries.contains_key(&key.to_string()) {
            let oldest = entries.iter().min_by_key(|(_, entry)| entry.at).map(|(key, _)| key.clone());
            oldest.map(|oldest| entries.remove(&oldest));
        }
        let KnownStarts { starts, interruptions, .. } = known;
        entries.insert(key.to_string(), Entry { starts, interruptions, at: Timestamp::now() });
        self.count.store(entries.len(), Ordering::Release);
        write(&self.path, &entries, true)
    }

    /// The copy is no suspect any more. Not synced: a machine that ends now has one interruption noted too many.
    pub(super) fn forget(&self, key: &CopyKey) {
        let mut entries = self.lock();
        if entries.remove(&key.to_string()).is_none() {
            return;
        }
        self.count.store(entries.len(), Ordering::Release);
        if let Err(error) = write(&self.path, &entries, false) {
            warn!(file = %self.path.display(), %error, "a message stays noted as a suspect: free some space there");
        }
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        // Nothing in here can be left half-done by a panic.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read(path: &Path) -> io::Result<Entries> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Entries::new()),
        Err(error) => return Err(error),
    };
    let mut entries: Entries = serde_json::from_slice(&bytes)?;
    let now = Timestamp::now();
    entries.retain(|_, entry| now.since(entry.at) < BELIEVED);
    Ok(entries)
}

/// Replaces the file as a whole, so that it is the old one or the new one whenever the host ends.
fn write(path: &Path, entries: &Entries, synced: bool) -> io::Result<()> {
    let temporary = path.with_extension("tmp");
    let mut file = File::create(&temporary)?;
    file.write_all(&serde_json::to_vec_pretty(entries)?)?;
    if synced {
        file.sync_all()?;
    }
    fs::rename(&temporary, path)?;
    if synced { sync_folder_of(path) } else { Ok(()) }
}

/// A rename is durable once its folder is.
fn sync_folder_of(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) if cfg!(unix) => File::open(folder)?.sync_all(),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Message;

    fn key(number: usize) -> CopyKey {
        CopyKey::alike(&Message::new(number.to_string()))
    }

    fn known(interruptions: u32) -> KnownStarts {
        KnownStarts { starts: interruptions, interruptions, requeues: 0 }
    }

    #[test]
    fn what_was_noted_is_known_at_the_next_start_until_it_is_forgotten() {
        let state = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(state.path());
        assert!(ledger.is_empty());
        ledger.note(&key(1), known(1)).unwrap();
        ledger.note(&key(2), known(1)).unwrap();
        ledger.note(&key(1), known(2)).unwrap();
        ledger.forget(&key(2));

        let next = Ledger::open(state.path());
        assert!(!next.is_empty());
        assert_eq!((next.known(&key(1)), next.known(&key(2))), (Some(known(2)), None));
        next.forget(&key(1));
        assert!(Ledger::open(state.path()).is_empty());
    }

    #[test]
    fn it_holds_no_more_than_its_capacity() {
        let state = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(state.path());
        let old = Entry { starts: 1, interruptions: 1, at: Timestamp(1) };
        ledger.lock().extend((0..CAPACITY).map(|number| (key(number).to_string(), old)));
        ledger.note(&key(CAPACITY), known(1)).unwrap();
        assert_eq!(ledger.lock().len(), CAPACITY);
        assert!(ledger.known(&key(CAPACITY)).is_some());
    }

    #[test]
    fn what_is_damaged_or_long_ago_counts_for_nothing() {
        let state = tempfile::tempdir().unwrap();
        fs::write(state.path().join(FILE), "{").unwrap();
        assert!(Ledger::open(state.path()).is_empty());
        let old = r#"{"00": {"starts": 1, "interruptions": 1, "at": 1}}"#;
        fs::write(state.path().join(FILE), old).unwrap();
        assert!(Ledger::open(state.path()).is_empty());
    }

    #[test]
    fn a_note_that_cannot_be_written_is_an_error() {
        let ledger = Ledger::open(Path::new("/nonexistent"));
        assert!(ledger.note(&key(1), known(1)).is_err());
    }
}
