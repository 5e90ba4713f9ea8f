//! The cases that go into the file: those of the crate's folder `cases`.

use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::Context as _;

use super::package::Chosen;
use super::shrink::with_section;
use crate::policy::cases::CaseTable;
use crate::policy::cases::section::{CASES_SECTION, encode};

/// The tables in the package's folder `cases`, in the order of their names; none where there is no such folder.
pub(super) fn of(package: &Chosen) -> anyhow::Result<Vec<CaseTable>> {
    let folder = package.manifest.with_file_name("cases");
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(|| format!("cannot read the folder {}", folder.display())),
    };
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<PathBuf>>>()?;
    files.retain(|file| matches!(file.extension().and_then(|extension| extension.to_str()), Some("toml" | "json")));
    files.sort();
    files.iter().map(|file| read(file)).collect()
}

fn read(file: &Path) -> anyhow::Result<CaseTable> {
    let text = fs::read_to_string(file).with_context(|| format!("cannot read the cases {}", file.display()))?;
    let is_json = file.extension().is_some_and(|extension| extension == "json");
    let table = if is_json { CaseTable::from_json(&text) } else { CaseTable::from_toml(&text) };
    table.with_context(|| format!("in {}", file.display()))
}

/// The module with these cases in it.
pub(super) fn put(module: Vec<u8>, tables: &[CaseTable]) -> anyhow::Result<Vec<u8>> {
    if tables.is_empty() {
        return Ok(module);
    }
    Ok(with_section(module, CASES_SECTION, &encode(tables).context("in the folder cases")?))
}
