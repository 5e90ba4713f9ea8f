//! Files of JSON lines that another process is writing.

use std::io::ErrorKind;
use std::path::Path;

use serde::de::DeserializeOwned;

/// The lines so far; none where the file is not there yet.
pub(crate) fn json_lines<T: DeserializeOwned>(path: &Path) -> Vec<T> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Vec::new(),
        Err(error) => panic!("{}: {error}", path.display()),
    };
    // The last line may be half written.
    let complete = text.rfind('\n').map_or("", |end| &text[..end]);
    complete.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}
