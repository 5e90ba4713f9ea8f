//! The folder of a run, which no other run may touch meanwhile.

use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// A folder that is this run's own for as long as the lock is open.
pub(super) struct Folder {
    pub(super) path: PathBuf,
    pub(super) lock: File,
}

impl Folder {
    /// Takes the folder of this name, unless a run that goes on has it. What an earlier run left there stays.
    pub(super) fn take(runs: &Path, name: &str) -> Result<Self> {
        fs::create_dir_all(runs).with_context(|| format!("cannot make {}", runs.display()))?;
        let path = runs.join(name);
        // Beside the folder, since it must outlive what is in there.
        let lock_path = runs.join(format!("{name}.lock"));
        let lock = File::options().create(true).read(true).append(true).open(&lock_path);
        let lock = lock.with_context(|| format!("cannot write {}", lock_path.display()))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => bail!(
                "a run is going on in {}; wait until it ends, or give this one another folder with --name",
                path.display()
            ),
            Err(TryLockError::Error(error)) => {
                return Err(error).with_context(|| format!("cannot lock {}", lock_path.display()));
            }
        }
        Ok(Self { path, lock })
    }

    /// Removes what an earlier run left there.
    pub(super) fn empty(&self) -> Result<()> {
        match fs::remove_dir_all(&self.path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(error).with_context(|| format!("cannot empty {}", self.path.display()))
            }
            _ => fs::create_dir_all(&self.path).with_context(|| format!("cannot make {}", self.path.display())),
        }
    }
}

/// A name that is one folder, whatever the shell or the file system make of others.
pub(super) fn name(text: &str) -> Result<String, String> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
    if text.is_empty() || !text.chars().all(is_plain) {
        return Err("give a name of letters, digits, - and _".to_owned());
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_belongs_to_one_run_at_a_time_and_is_left_alone_by_others() {
        let runs = tempfile::tempdir().unwrap();
        let first = Folder::take(runs.path(), "run").unwrap();
        first.empty().unwrap();
        fs::write(first.path.join("table.txt"), "of the first").unwrap();
        let other = Folder::take(runs.path(), "short").unwrap();
        assert_ne!(other.path, first.path);
        let refused = Folder::take(runs.path(), "run").err().unwrap().to_string();
        assert!(refused.contains("a run is going on in") && refused.contains("--name"), "{refused}");
        assert!(first.path.join("table.txt").exists());
        drop(first.lock);
        let second = Folder::take(runs.path(), "run").unwrap();
        second.empty().unwrap();
        assert!(!second.path.join("table.txt").exists());
    }

    #[test]
    fn a_name_cannot_lead_out_of_the_folder_of_runs() {
        assert_eq!(name("night-2"), Ok("night-2".to_owned()));
        for bad in ["", ".", "..", "../x", "a/b", "/tmp"] {
            assert!(name(bad).is_err(), "{bad}");
        }
    }
}
