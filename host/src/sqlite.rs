//! What the host's SQLite files have in common: one that is damaged is set aside, and a new one begun.

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

use crate::timestamp::Timestamp;

/// Whether the file is damaged, or no database at all.
pub(crate) fn is_corrupt(problem: &rusqlite::Error) -> bool {
    matches!(problem.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

/// Renames a file, and what SQLite keeps beside it, and gives its new name.
pub(crate) fn set_aside(file: &Path) -> io::Result<PathBuf> {
    let mark = format!(".corrupt-{}", Timestamp::now().0);
    let with = |ending: &str| -> OsString {
        let mut name = file.as_os_str().to_owned();
        name.push(ending);
        name
    };
    for beside in ["-wal", "-shm"] {
        match std::fs::rename(with(beside), with(&format!("{mark}{beside}"))) {
            Err(problem) if problem.kind() != ErrorKind::NotFound => return Err(problem),
            _ => {}
        }
    }
    std::fs::rename(file, with(&mark))?;
    Ok(with(&mark).into())
}
