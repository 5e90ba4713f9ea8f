//! Files of cases, alone or in a folder.

use std::path::{Path, PathBuf};
use std::{fs, io};

use super::table::{CaseError, CaseTable};

/// A file of cases that cannot be used. Displayed as file, line and column, and what is wrong.
#[derive(Debug, thiserror::Error)]
pub enum CaseFileError {
    /// It cannot be read.
    #[error("cannot read {}: {cause}", path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// What it holds is no table of cases.
    #[error("{}:{}{error}", path.display(), if error.place.is_some() { "" } else { " " })]
    Wrong {
        /// The file.
        path: PathBuf,
        /// Where in it, and what is wrong.
        error: CaseError,
    },
}

impl CaseTable {
    /// Reads a file: JSON where its name ends so, else TOML.
    ///
    /// # Errors
    /// It cannot be read, or is wrong.
    pub fn read(path: &Path) -> Result<Self, CaseFileError> {
        let text =
            fs::read_to_string(path).map_err(|cause| CaseFileError::Unreadable { path: path.to_owned(), cause })?;
        let table = if is_json(path) { Self::from_json(&text) } else { Self::from_toml(&text) };
        table.map_err(|error| CaseFileError::Wrong { path: path.to_owned(), error })
    }
}

/// The files of cases in a folder (`*.toml` and `*.json`, not hidden, not in folders within), in the order of their names.
///
/// # Errors
/// The folder cannot be read.
pub fn files_in(folder: &Path) -> Result<Vec<PathBuf>, CaseFileError> {
    let unreadable = |cause| CaseFileError::Unreadable { path: folder.to_owned(), cause };
    let entries = fs::read_dir(folder).map_err(unreadable)?;
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>().map_err(unreadable)?;
    files.retain(|file| {
        let hidden = file.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        !hidden && (is_json(file) || has_extension(file, "toml"))
    });
    files.sort();
    Ok(files)
}

fn is_json(path: &Path) -> bool {
    has_extension(path, "json")
}

fn has_extension(path: &Path, wanted: &str) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_gives_its_tables_in_the_order_of_their_names_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b.toml", "a.json", "c.TOML", ".hidden.toml", "a.toml~", "README.md"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let names: Vec<_> =
            files_in(folder.path()).unwrap().iter().map(|file| file.file_name().unwrap().to_owned()).collect();
        assert_eq!(names, ["a.json", "b.toml", "c.TOML"]);
    }

    #[test]
    fn what_is_wrong_begins_with_the_file_and_the_place() {
        let folder = tempfile::tempdir().unwrap();
        let wrong = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            let error = CaseTable::read(&path).unwrap_err().to_string();
            error.strip_prefix(&format!("{}/", folder.path().display())).expect("the file's path").to_owned()
        };
        assert!(wrong("a.toml", "[[case]]\nname = late\n").starts_with("a.toml:2:8: "));
        assert!(wrong("a.json", "{\n  \"case\": [}").starts_with("a.json:2:12: not JSON: "));
        assert_eq!(wrong("b.json", "{}"), "b.json: it has no cases; write [[case]] above each");
        let missing = CaseTable::read(&folder.path().join("none.toml")).unwrap_err().to_string();
        assert!(missing.starts_with("cannot read ") && missing.contains("none.toml: No such file"), "{missing}");
    }
}
