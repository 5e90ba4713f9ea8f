//! The journal's file and its tables.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::JournalError;

/// What `user_version` says of a file with these tables.
const LAYOUT: i64 = 1;

/// Another process may hold the file for so long: a copy is made, or somebody looks at it by hand.
const BUSY: Duration = Duration::from_secs(2);

/// The whole of a failure is JSON; what is asked for by itself has a column.
const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS failures (
        id INTEGER PRIMARY KEY,
        at INTEGER NOT NULL,
        route TEXT NOT NULL,
        message_id TEXT,
        error_kind TEXT NOT NULL,
        attempt INTEGER NOT NULL,
        policy TEXT,
        revision TEXT,
        action TEXT,
        fault TEXT,
        outcome TEXT,
        failure TEXT NOT NULL,
        kept TEXT,
        answer TEXT NOT NULL,
        done TEXT,
        candidate TEXT
    );
    CREATE INDEX IF NOT EXISTS failures_at ON failures (at);
    CREATE INDEX IF NOT EXISTS failures_message ON failures (message_id) WHERE message_id IS NOT NULL;
    CREATE TABLE IF NOT EXISTS ends (
        id INTEGER PRIMARY KEY, at INTEGER NOT NULL, route TEXT NOT NULL, message_id TEXT, ended TEXT NOT NULL
    );
    CREATE INDEX IF NOT EXISTS ends_message ON ends (message_id) WHERE message_id IS NOT NULL;
    CREATE TABLE IF NOT EXISTS steps (
        id INTEGER PRIMARY KEY, at INTEGER NOT NULL, route TEXT NOT NULL, step TEXT NOT NULL
    );
";

/// Opens the file to append to it; makes it where there is none.
pub(super) fn open(file: &Path) -> Result<Connection, JournalError> {
    let problem = |problem| JournalError::File { file: file.to_owned(), problem };
    if let Some(folder) = file.parent() {
        // Where this fails, so does the opening, and that error names the file.
        let _ = std::fs::create_dir_all(folder);
    }
    let connection = Connection::open(file).map_err(problem)?;
    let is_new = layout(&connection).map_err(problem)? == 0;
    prepare(&connection, is_new).map_err(problem)?;
    check_layout(&connection, file)?;
    Ok(connection)
}

fn prepare(connection: &Connection, is_new: bool) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY)?;
    if is_new {
        // Has to come before the first table; lets a journal that is cut down give its room back.
        connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    }
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // A crash of the machine may take the last entries; it never corrupts, and no sync is waited for.
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    // Each checkpoint is synced, and a busy host would have one with every batch: let 32 MiB come together.
    connection.pragma_update(None, "wal_autocheckpoint", 8192)?;
    connection.pragma_update(None, "journal_size_limit", 64 * 1024 * 1024)?;
    if is_new {
        connection.execute_batch(TABLES)?;
        connection.pragma_update(None, "user_version", LAYOUT)?;
    }
    Ok(())
}

/// Opens a file that must be there, to read it only.
pub(super) fn open_to_read(file: &Path) -> Result<Connection, JournalError> {
    if !file.exists() {
        return Err(JournalError::Missing(file.to_owned()));
    }
    let problem = |problem| JournalError::File { file: PathBuf::from(file), problem };
    // A connection is used by one thread at a time: no lock for each column that is read.
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(file, flags).map_err(problem)?;
    connection.busy_timeout(BUSY).map_err(problem)?;
    check_layout(&connection, file)?;
    Ok(connection)
}

fn check_layout(connection: &Connection, file: &Path) -> Result<(), JournalError> {
    let found = layout(connection).map_err(|problem| JournalError::File { file: file.to_owned(), problem })?;
    if found == LAYOUT { Ok(()) } else { Err(JournalError::Layout { file: file.to_owned(), found, expected: LAYOUT }) }
}

fn layout(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}
