//! What each route last ran on, kept over restarts: the policy's bytes and the settings that it took.
//!
//! A route has a folder with the bytes under their digest, their signature where they have one, and a record that names
//! them. The record is replaced by a rename, after everything that it names is on disk, so that a crash leaves the old pair
//! or the new one.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::folder::{self, PolicyFile, ReadError};
use super::history::{self, History, Previous};
use super::sha256;

const RECORD: &str = "last-good.json";

/// A policy and the settings that it took.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LastGood {
    /// The policy's name.
    pub(super) policy: String,
    /// Its bytes, and their signature where one was demanded.
    pub(super) file: PolicyFile,
    /// The settings.
    pub(super) settings: Value,
}

#[derive(Serialize, Deserialize)]
struct Record {
    route: String,
    policy: String,
    digest: String,
    settings: Value,
}

/// The host's state folder, as far as it is about policies.
#[derive(Debug, Clone)]
pub(super) struct LastGoodStore {
    folder: Option<PathBuf>,
}

impl LastGoodStore {
    /// Keeps under `state`; without one, keeps nothing over a restart.
    pub(super) fn new(state: Option<&Path>) -> Self {
        Self { folder: state.map(|state| state.join("policies")) }
    }

    /// Puts the pair on disk. When this returns, a crash of the machine cannot lose it.
    ///
    /// # Errors
    /// What could not be written, and what to do.
    pub(super) fn keep(&self, route: &str, good: &LastGood) -> Result<(), String> {
        let Some(folder) = self.folder_of(route) else { return Ok(()) };
        if self.read(route, u64::MAX).is_ok_and(|kept| kept.as_ref() == Some(good)) {
            return Ok(());
        }
        let unwritable = |error: io::Error| {
            format!(
                "cannot keep the last good policy in {}: {error}; make it writable and free some space",
                folder.display()
            )
        };
        let before = self.read(route, u64::MAX).ok().flatten();
        let history = self.history(route).unwrap_or_default();
        write_pair(&folder, route, good).map_err(unwritable)?;
        let mut after = history.clone();
        // What goes live is no earlier version any more.
        after.previous.retain(|previous| previous.digest != good.file.digest || previous.settings != good.settings);
        let is_another = |before: &LastGood| before.file.digest != good.file.digest || before.settings != good.settings;
        if let Some(LastGood { policy, file, settings }) = before.filter(is_another) {
            after.leaves(Previous { policy, digest: file.digest, settings });
        }
        if after != history {
            write_history(&folder, &after).map_err(unwritable)?;
        }
        if let Err(error) = remove_others(&folder, &good.file, &after) {
            tracing::debug!(folder = %folder.display(), %error, "an older policy stays in the state folder");
        }
        Ok(())
    }

    /// The pair that was kept for this route, where there is one.
    ///
    /// # Errors
    /// What is there and cannot be used.
    pub(super) fn read(&self, route: &str, limit: u64) -> Result<Option<LastGood>, String> {
        let Some(folder) = self.folder_of(route) else { return Ok(None) };
        let path = folder.join(RECORD);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("cannot read {}: {error}", path.display())),
        };
        let record: Record =
            serde_json::from_slice(&text).map_err(|error| format!("{} is damaged: {error}", path.display()))?;
        if record.route != route {
            return Err(format!("{} belongs to route {:?}", path.display(), record.route));
        }
        let path = folder.join(file_name(&record.digest));
        let file = folder::read_signed(&path, limit).map_err(|error: ReadError| error.to_string())?;
        if file.digest != record.digest {
            return Err(format!("{} is damaged: its digest is {}", path.display(), file.digest));
        }
        Ok(Some(LastGood { policy: record.policy, file, settings: record.settings }))
    }

    /// What the route's policies came to.
    ///
    /// # Errors
    /// What is there cannot be read.
    pub(super) fn history(&self, route: &str) -> Result<History, String> {
        self.folder_of(route).map_or_else(|| Ok(History::default()), |folder| History::read(&folder))
    }

    /// Puts it on disk. When this returns, a crash of the machine cannot lose it.
    ///
    /// # Errors
    /// What could not be written, and what to do.
    pub(super) fn keep_history(&self, route: &str, history: &History) -> Result<(), String> {
        let Some(folder) = self.folder_of(route) else { return Ok(()) };
        let written = fs::create_dir_all(&folder).and_then(|()| write_history(&folder, history));
        written.map_err(|error| {
            format!(
                "cannot write {}: {error}; make it writable and free some space",
                folder.join(history::FILE).display()
            )
        })
    }

    /// A version that was live before.
    ///
    /// # Errors
    /// What is there and cannot be used.
    pub(super) fn read_previous(&self, route: &str, previous: &Previous, limit: u64) -> Result<LastGood, String> {
        let folder = self.folder_of(route).ok_or("without a state folder no version is kept")?;
        let path = folder.join(file_name(&previous.digest));
        let file = folder::read_signed(&path, limit).map_err(|error: ReadError| error.to_string())?;
        if file.digest != previous.digest {
            return Err(format!("{} is damaged: its digest is {}", path.display(), file.digest));
        }
        Ok(LastGood { policy: previous.policy.clone(), file, settings: previous.settings.clone() })
    }

    fn folder_of(&self, route: &str) -> Option<PathBuf> {
        self.folder.as_ref().map(|folder| folder.join(folder_name(route)))
    }
}

fn write_pair(folder: &Path, route: &str, good: &LastGood) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let name = file_name(&good.file.digest);
    write_durably(folder, &name, &good.file.bytes)?;
    if let Some(signature) = &good.file.signature {
        write_durably(folder, &signature_name(&name), signature)?;
    }
    let record = Record {
        route: route.to_owned(),
        policy: good.policy.clone(),
        digest: good.file.digest.clone(),
        settings: good.settings.clone(),
    };
    write_durably(folder, RECORD, &serde_json::to_vec_pretty(&record)?)
}

fn write_history(folder: &Path, history: &History) -> io::Result<()> {
    write_durably(folder, history::FILE, &serde_json::to_vec_pretty(history)?)
}

fn file_name(digest: &str) -> String {
    format!("{digest}.wasm")
}

fn signature_name(policy: &str) -> String {
    folder::signature_path(Path::new(policy)).display().to_string()
}

fn write_durably(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let temporary = folder.join(format!("{name}.tmp"));
    let mut file = File::create(&temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&temporary, folder.join(name))?;
    sync_folder(folder)
}

/// A rename is durable once its folder is.
#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "the same signature on every system")]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

fn remove_others(folder: &Path, file: &PolicyFile, history: &History) -> io::Result<()> {
    let policy = file_name(&file.digest);
    let signature = file.signature.as_ref().map(|_| signature_name(&policy));
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let digest = name.to_str().and_then(|name| name.split('.').next()).unwrap_or_default();
        if name == *history::FILE || history.needs(digest) {
            continue;
        }
        if name != *RECORD && name != *policy && signature.as_ref().is_none_or(|signature| name != **signature) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// A folder name for any route name: what could mean something to a file system is written as `%XX`, and a name that is
/// too long for one ends in its digest.
fn folder_name(route: &str) -> String {
    let mut name = String::new();
    for (position, byte) in route.bytes().enumerate() {
        let plain = byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_') || (byte == b'.' && position > 0);
        if plain {
            name.push(byte.into());
        } else {
            name.push_str(&format!("%{byte:02X}"));
        }
    }
    if name.len() > 200 {
        name.truncate(100);
        name.push('%');
        name.push_str(&sha256::of(route));
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: u64 = 1 << 20;

    fn good(text: &'static str) -> LastGood {
        LastGood {
            policy: "orders".into(),
            file: PolicyFile::new(text.as_bytes()),
            settings: serde_json::json!({"give_up_after": "24h"}),
        }
    }

    #[test]
    fn what_was_kept_last_is_read_back_and_some_versions_before_it() {
        let state = tempfile::tempdir().unwrap();
        let store = LastGoodStore::new(Some(state.path()));
        assert_eq!(store.read("orders", LIMIT), Ok(None));
        store.keep("orders", &good("one")).unwrap();
        store.keep("orders", &good("two")).unwrap();
        assert_eq!(store.read("orders", LIMIT), Ok(Some(good("two"))));
        assert_eq!(store.history("orders").unwrap().previous.len(), 1, "a version to go back to");
        for text in ["three", "four", "five", "six", "seven"] {
            store.keep("orders", &good(text)).unwrap();
        }
        let files = fs::read_dir(state.path().join("policies/orders")).unwrap().count();
        assert_eq!(files, 2 + 6, "two records, what is live, and five versions before it");
        let previous = &store.history("orders").unwrap().previous[0];
        assert_eq!(store.read_previous("orders", previous, LIMIT), Ok(good("six")));
    }

    #[test]
    fn a_signature_is_kept_beside_the_bytes_for_as_long_as_they_have_one() {
        let state = tempfile::tempdir().unwrap();
        let store = LastGoodStore::new(Some(state.path()));
        let mut signed = good("one");
        for signature in ["by one", "by another"] {
            signed.file.signature = Some(signature.into());
            store.keep("orders", &signed).unwrap();
            assert_eq!(store.read("orders", LIMIT), Ok(Some(signed.clone())));
        }
        assert_eq!(fs::read_dir(state.path().join("policies/orders")).unwrap().count(), 3);
        store.keep("orders", &good("one")).unwrap();
        assert_eq!(store.read("orders", LIMIT), Ok(Some(good("one"))));
        store.keep("orders", &signed).unwrap();
        store.keep("orders", &good("two")).unwrap();
        let previous = &store.history("orders").unwrap().previous[0];
        assert_eq!(store.read_previous("orders", previous, LIMIT), Ok(signed), "with its signature");
    }

    #[test]
    fn damage_is_told_and_not_run_on() {
        let state = tempfile::tempdir().unwrap();
        let store = LastGoodStore::new(Some(state.path()));
        store.keep("orders", &good("one")).unwrap();
        let folder = state.path().join("policies/orders");
        fs::write(folder.join(format!("{}.wasm", good("one").file.digest)), "other").unwrap();
        assert!(store.read("orders", LIMIT).unwrap_err().contains("damaged"));
        fs::write(folder.join(RECORD), "{").unwrap();
        assert!(store.read("orders", LIMIT).unwrap_err().contains("damaged"));
    }

    #[test]
    fn a_crash_before_the_record_was_replaced_leaves_the_old_pair() {
        let state = tempfile::tempdir().unwrap();
        let store = LastGoodStore::new(Some(state.path()));
        store.keep("orders", &good("one")).unwrap();
        let folder = state.path().join("policies/orders");
        write_durably(&folder, &format!("{}.wasm", good("two").file.digest), b"two").unwrap();
        fs::write(folder.join(format!("{RECORD}.tmp")), "{\"rou").unwrap();
        assert_eq!(store.read("orders", LIMIT), Ok(Some(good("one"))));
    }

    #[test]
    fn no_route_name_leaves_the_state_folder_and_no_two_share_one() {
        let names = ["a/b", "a%2Fb", "..", ".", "../../etc", "a b", "ä", &"x".repeat(300), &"x".repeat(301)];
        let folders: Vec<_> = names.iter().map(|name| folder_name(name)).collect();
        for folder in &folders {
            assert!(folder.len() < 255 && !folder.contains('/') && !folder.starts_with('.'), "{folder}");
        }
        let distinct: std::collections::HashSet<_> = folders.iter().collect();
        assert_eq!(distinct.len(), names.len());
        assert_eq!(folder_name("orders.eu-1"), "orders.eu-1");
    }

    #[test]
    fn a_state_folder_that_cannot_be_written_is_an_error_that_names_it() {
        let state = tempfile::tempdir().unwrap();
        fs::write(state.path().join("policies"), "a file in the way").unwrap();
        let error = LastGoodStore::new(Some(state.path())).keep("orders", &good("one")).unwrap_err();
        assert!(error.contains("policies/orders"), "{error}");
    }
}
