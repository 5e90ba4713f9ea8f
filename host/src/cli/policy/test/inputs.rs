//! The policy and the cases, as they are now.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, bail, ensure};
use sha2::{Digest, Sha256};

use super::TestArguments;
use super::report::{Group, Outcome, Report};
use crate::cli::policy::judged::PolicyBytes;
use crate::policy::cases::{Case, CaseTable, files_in};
use crate::policy::engine::Engine;
use crate::policy::inspection::Inspection;

/// The folder that is looked for where nobody says which cases are meant.
const FOLDER: &str = "cases";

/// What is to be tested, and by what.
pub(super) struct Inputs {
    file: PathBuf,
    policy: PolicyBytes,
    tables: Vec<Table>,
    note: Option<String>,
    digest: [u8; 32],
}

/// Cases from one place.
struct Table {
    file: String,
    carried: bool,
    cases: Vec<Case>,
}

impl Inputs {
    /// Reads everything anew.
    ///
    /// # Errors
    /// Something cannot be read or is wrong, each file of cases with its place; or there are no cases.
    pub(super) fn read(arguments: &TestArguments) -> anyhow::Result<Self> {
        let policy = arguments.policy.read()?;
        let file = arguments.policy.file.clone();
        let folder = default_folders(&file).into_iter().find(|folder| folder.is_dir());
        let mut note = None;
        let (tables, digest) = if arguments.cases.is_empty() {
            let carried = Inspection::cases(&policy.bytes)
                .with_context(|| format!("the cases that {} carries cannot be used", file.display()))?;
            match folder {
                None if carried.is_empty() => bail!(
                    "no cases: {} carries none, and there is no folder `{FOLDER}` beside it or here; give some with --cases PATH",
                    file.display()
                ),
                Some(folder) if carried.is_empty() => read_files(&policy.bytes, &[folder])?,
                folder => {
                    note = folder.map(|folder| {
                        let folder = folder.display();
                        format!(
                            "these cases are in the policy's file; to test by the folder {folder}: --cases {folder}"
                        )
                    });
                    let table = Table { file: file.display().to_string(), carried: true, cases: carried };
                    (vec![table], Sha256::digest(&policy.bytes).into())
                }
            }
        } else {
            read_files(&policy.bytes, &arguments.cases)?
        };
        Ok(Self { file, policy, tables, note, digest })
    }

    /// Another one where anything else would be tested.
    pub(super) const fn digest(&self) -> [u8; 32] {
        self.digest
    }

    /// Judges the cases with this text in their names, or all.
    ///
    /// # Errors
    /// The file is no policy, or no case has such a name.
    pub(super) fn judge(self, engine: &Engine, only: Option<&str>) -> anyhow::Result<Report> {
        let began = Instant::now();
        let PolicyBytes { name, bytes, .. } = &self.policy;
        let all: usize = self.tables.iter().map(|table| table.cases.len()).sum();
        let mut groups = Vec::new();
        for Table { file, carried, mut cases } in self.tables {
            cases.retain(|case| only.is_none_or(|text| case.name.contains(text)));
            if cases.is_empty() {
                continue;
            }
            let runs = engine
                .run_cases(name, bytes, &cases)
                .with_context(|| format!("{} cannot be tested", self.file.display()))?;
            let outcomes = cases.into_iter().zip(runs).map(|(case, run)| Outcome { name: case.name, run });
            groups.push(Group { file, carried, outcomes: outcomes.collect() });
        }
        let chosen: usize = groups.iter().map(|group| group.outcomes.len()).sum();
        ensure!(chosen > 0, "none of the {all} cases has {:?} in its name", only.unwrap_or_default());
        Ok(Report {
            file: self.file.display().to_string(),
            name: name.clone(),
            groups,
            left_out: all - chosen,
            note: self.note,
            elapsed: began.elapsed(),
        })
    }
}

/// Where cases are looked for, in this order.
pub(super) fn default_folders(policy: &Path) -> [PathBuf; 2] {
    [policy.parent().unwrap_or(Path::new("")).join(FOLDER), PathBuf::from(FOLDER)]
}

/// Reads these files and folders, and tells of everything that is wrong in them.
fn read_files(policy: &[u8], paths: &[PathBuf]) -> anyhow::Result<(Vec<Table>, [u8; 32])> {
    let mut files = Vec::new();
    for path in paths {
        let found = if path.is_dir() { files_in(path)? } else { vec![path.clone()] };
        ensure!(!found.is_empty(), "no cases: {} holds no file that ends in .toml or .json", path.display());
        files.extend(found);
    }
    let (mut tables, mut wrong) = (Vec::new(), Vec::new());
    let mut digest = Sha256::new();
    digest.update((policy.len() as u64).to_le_bytes());
    digest.update(policy);
    for file in files {
        match CaseTable::read(&file) {
            Ok(table) => {
                let file = file.display().to_string();
                for part in [file.clone(), table.written.to_string()] {
                    digest.update((part.len() as u64).to_le_bytes());
                    digest.update(part);
                }
                tables.push(Table { file, carried: false, cases: table.cases });
            }
            Err(error) => wrong.push(error.to_string()),
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n       "));
    Ok((tables, digest.finalize().into()))
}
