//! The host's state folder: one host at a time, and whether the one before it ended in order.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

const LOCK: &str = "host.lock";

/// What the lock's file says after an orderly end. Anything else was left by a host that could not say it.
const CLEAN: &str = "clean";

/// The state folder of a host that runs. The system lifts the lock when the process ends, in whatever way.
#[derive(Debug)]
pub(super) struct StateFolder {
    path: PathBuf,
    lock: File,
    ended_badly: bool,
}

impl StateFolder {
    /// Takes the folder, which is made if need be. Until [`StateFolder::end_in_order`] it counts as ended badly.
    ///
    /// # Errors
    /// Another host has it, or it cannot be written.
    pub(super) fn take(path: &Path) -> anyhow::Result<Self> {
        let cannot = || {
            let path = path.display();
            format!(
                "cannot use the state folder {path}: make it writable, or name another one with `state` under [host]"
            )
        };
        fs::create_dir_all(path).with_context(cannot)?;
        let open = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path.join(LOCK));
        let mut lock = open.with_context(cannot)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => bail!(
                "another host has the state folder {}{}: give each host one of its own, with `state` under [host]",
                path.display(),
                holder(&mut lock)
            ),
            Err(TryLockError::Error(error)) => return Err(error).with_context(cannot),
        }
        let mut text = String::new();
        lock.read_to_string(&mut text).with_context(cannot)?;
        // An empty file is one that was never run on.
        let ended_badly = !matches!(text.trim(), "" | CLEAN);
        let mut folder = Self { path: path.to_owned(), lock, ended_badly };
        folder.write(&format!("process {}", std::process::id())).with_context(cannot)?;
        Ok(folder)
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The host that ran on it before was killed, crashed, or did not wait for its end.
    pub(super) fn ended_badly(&self) -> bool {
        self.ended_badly
    }

    /// Every delivery has ended.
    pub(super) fn end_in_order(mut self) -> io::Result<()> {
        self.write(CLEAN)
    }

    /// Synced, since what follows may end the machine.
    fn write(&mut self, text: &str) -> io::Result<()> {
        self.lock.set_len(0)?;
        self.lock.rewind()?;
        writeln!(self.lock, "{text}")?;
        self.lock.sync_all()
    }
}

fn holder(lock: &mut File) -> String {
    let mut text = String::new();
    match lock.read_to_string(&mut text) {
        Ok(_) if text.starts_with("process ") => format!(" ({})", text.trim()),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_host_is_refused_and_told_who_has_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let first = StateFolder::take(folder.path()).unwrap();
        let error = StateFolder::take(folder.path()).unwrap_err().to_string();
        assert!(error.contains(&format!("(process {})", std::process::id())) && error.contains("[host]"), "{error}");
        drop(first);
        StateFolder::take(folder.path()).unwrap();
    }

    #[test]
    fn an_end_that_was_not_orderly_is_seen_at_the_next_start() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        let first = StateFolder::take(&path).unwrap();
        assert!(!first.ended_badly(), "nothing ran here before");
        drop(first);
        let second = StateFolder::take(&path).unwrap();
        assert!(second.ended_badly());
        second.end_in_order().unwrap();
        assert!(!StateFolder::take(&path).unwrap().ended_badly());
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_an_error_that_names_it_and_the_cure() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("state"), "a file in the way").unwrap();
        let error = StateFolder::take(&folder.path().join("state")).unwrap_err().to_string();
        assert!(error.contains("state") && error.contains("[host]"), "{error}");
    }
}
