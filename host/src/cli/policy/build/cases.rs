//! The cases that go into the file: those of the crate's folder `cases`.

use std::io;

use anyhow::Context as _;

use super::package::Chosen;
use super::shrink::with_section;
use crate::policy::cases::section::{CASES_SECTION, encode};
use crate::policy::cases::{CaseFileError, CaseTable, files_in};

/// The tables in the package's folder `cases`, in the order of their names; none where there is no such folder.
pub(super) fn of(package: &Chosen) -> anyhow::Result<Vec<CaseTable>> {
    let folder = package.manifest.with_file_name("cases");
    let files = match files_in(&folder) {
        Ok(files) => files,
        Err(CaseFileError::Unreadable { cause, .. }) if cause.kind() == io::ErrorKind::NotFound => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(error.into()),
    };
    files.iter().map(|file| Ok(CaseTable::read(file)?)).collect()
}

/// The module with these cases in it.
pub(super) fn put(module: Vec<u8>, tables: &[CaseTable]) -> anyhow::Result<Vec<u8>> {
    if tables.is_empty() {
        return Ok(module);
    }
    Ok(with_section(module, CASES_SECTION, &encode(tables).context("in the folder cases")?))
}
