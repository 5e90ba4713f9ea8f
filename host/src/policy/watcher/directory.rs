//! A watch on whatever directory a path leads to at the moment.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};

use super::hints::{Changes, Hints};
use super::{loses, meaning};

type Filter = Arc<dyn Fn(&Event) -> bool + Send + Sync>;

pub(super) struct DirectoryWatch {
    path: PathBuf,
    hints: Hints,
    /// Which events are passed on.
    filter: Filter,
    armed: Option<Armed>,
}

struct Armed {
    directory: Identity,
    /// Set by the watcher's thread once the directory is gone or elsewhere; an inode number alone may be used again.
    lost: Arc<AtomicBool>,
    /// Watches until it is dropped.
    _watcher: RecommendedWatcher,
}

impl DirectoryWatch {
    pub(super) fn new(path: PathBuf, hints: Hints, filter: impl Fn(&Event) -> bool + Send + Sync + 'static) -> Self {
        Self { path, hints, filter: Arc::new(filter), armed: None }
    }

    /// Makes sure that the directory now at the path is watched.
    pub(super) fn arm(&mut self) -> Result<(), String> {
        let directory = identify(&self.path);
        let holds =
            |armed: &Armed| !armed.lost.load(Ordering::Acquire) && directory.as_ref().ok() == Some(&armed.directory);
        if self.armed.as_ref().is_some_and(holds) {
            return Ok(());
        }
        self.armed = None;
        let cannot = |error: &dyn fmt::Display| format!("cannot watch {}: {error}", self.path.display());
        let directory = directory.map_err(|error| cannot(&error))?;
        let lost = Arc::new(AtomicBool::new(false));
        // A new watcher each time. One that is told to watch the same path again may still hold the old directory's
        // last events, and on them drops the new watch.
        let mut watcher =
            notify::recommended_watcher(self.handler(Arc::clone(&lost))).map_err(|error| cannot(&error))?;
        watcher.watch(&self.path, RecursiveMode::NonRecursive).map_err(|error| cannot(&error))?;
        self.armed = Some(Armed { directory, lost, _watcher: watcher });
        Ok(())
    }

    fn handler(&self, lost: Arc<AtomicBool>) -> impl Fn(notify::Result<Event>) + Send + 'static {
        let (path, hints, filter) = (self.path.clone(), self.hints.clone(), Arc::clone(&self.filter));
        move |event| match event {
            Ok(event) => {
                if loses(&event, &path) {
                    lost.store(true, Ordering::Release);
                    hints.add(Changes { any: 1, renames: 0 });
                } else if filter(&event) {
                    hints.add(meaning(&event));
                }
            }
            // The watcher could not read its events: anything may have changed.
            Err(_) => hints.add(Changes { any: 1, renames: 0 }),
        }
    }
}

impl fmt::Debug for DirectoryWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DirectoryWatch").field("path", &self.path).field("armed", &self.armed.is_some()).finish()
    }
}

#[cfg(unix)]
type Identity = (u64, u64);

#[cfg(unix)]
fn identify(path: &Path) -> std::io::Result<Identity> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).map(|metadata| (metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
type Identity = PathBuf;

#[cfg(not(unix))]
fn identify(path: &Path) -> std::io::Result<Identity> {
    std::fs::canonicalize(path)
}
