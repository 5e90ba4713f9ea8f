//! Notices that something may have changed in the policies folder. What changed, only a scan can tell.

mod directory;
mod hints;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use notify::event::{AccessKind, AccessMode, EventKind};

use directory::DirectoryWatch;
use hints::Changes;
pub(crate) use hints::{Hinted, Hints, hints};

/// Watches the policies folder, and its parent for the folder itself coming, going or being replaced.
#[derive(Debug)]
pub(crate) struct FolderWatch {
    folder: DirectoryWatch,
    parent: Option<DirectoryWatch>,
}

impl FolderWatch {
    /// A watch on `folder`, not armed yet.
    pub(crate) fn new(folder: &Path, hints: &Hints) -> Self {
        // A relative path is made absolute once: the parent of `policies` would be an empty path.
        let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
        let parent = folder.parent().zip(folder.file_name()).map(|(parent, name)| {
            // The parent may be busy with what is not ours, such as a log file.
            let name = name.to_owned();
            DirectoryWatch::new(parent.to_owned(), hints.clone(), move |event| concerns(event, &name))
        });
        Self { folder: DirectoryWatch::new(folder, hints.clone(), |_| true), parent }
    }

    /// Watches what is at the path now. Called before every scan, so that nothing can change unnoticed between the two.
    ///
    /// # Errors
    /// The folder cannot be watched now: it is missing, or the system has no more watches. The text says which, and
    /// what that means.
    pub(crate) fn arm(&mut self) -> Result<(), String> {
        let parent = self.parent.as_mut().map_or(Ok(()), DirectoryWatch::arm);
        self.folder.arm().map_err(|error| format!("{error}; changes are only noticed by the slow rescan"))?;
        parent.map_err(|error| format!("{error}; a folder put in place of this one is only noticed by the slow rescan"))
    }
}

fn concerns(event: &notify::Event, name: &OsStr) -> bool {
    // An overflow comes without paths and concerns everybody.
    event.paths.is_empty() || event.paths.iter().any(|path| path.file_name() == Some(name))
}

/// What an event means. Kinds and names are not looked at any closer: each way of replacing a file makes other ones.
fn meaning(event: &notify::Event) -> Changes {
    match event.kind {
        // Our own reading makes these; taking them for changes would rescan for ever.
        EventKind::Access(AccessKind::Open(_) | AccessKind::Read | AccessKind::Close(AccessMode::Read))
            if !event.need_rescan() =>
        {
            Changes::default()
        }
        // A rename puts a whole file in place.
        EventKind::Modify(notify::event::ModifyKind::Name(_)) => Changes { any: 1, renames: 1 },
        _ => Changes { any: 1, renames: 0 },
    }
}

/// Whether the event says that the watched directory itself is gone or has moved.
fn loses(event: &notify::Event, directory: &PathBuf) -> bool {
    let gone = matches!(event.kind, EventKind::Remove(_) | EventKind::Modify(notify::event::ModifyKind::Name(_)));
    gone && event.paths.contains(directory)
}

#[cfg(test)]
mod tests;
