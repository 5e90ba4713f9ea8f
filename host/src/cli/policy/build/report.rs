//! What was built, for people and for programs.

use std::path::{Path, PathBuf};
use std::{fmt, io};

use anyhow::Context as _;
use bytesize::ByteSize;
use serde::Serialize;

use super::package::Chosen;
use super::trial::Loaded;
use crate::cli::policy::words;
use crate::cli::style::Style;
use crate::policy::engine::{INTERFACE_VERSION, Needs};
use crate::policy::inspection::Inspection;
use crate::policy::rejection::Problem;

#[derive(Debug, Serialize)]
pub(super) struct Report {
    package: String,
    version: String,
    file: PathBuf,
    /// In bytes.
    size: usize,
    /// SHA-256, hexadecimal.
    digest: String,
    interface: &'static str,
    sdk: Option<String>,
    /// How many cases it carries.
    cases: usize,
    /// Absent where it is not known before the policy has settings.
    needs: Option<Needs>,
    /// What it says to having no settings; empty where it can do without.
    wanted: Vec<Problem>,
}

impl Report {
    pub(super) fn new(package: &Chosen, out: &Path, file: &[u8], loaded: &Loaded) -> anyhow::Result<Self> {
        let inspection = Inspection::of(file).context("cannot read what was built")?;
        let (needs, wanted) = match loaded {
            Loaded::Ready(needs) => (Some(needs.clone()), Vec::new()),
            Loaded::WantsSettings(problems) => (None, problems.clone()),
        };
        Ok(Self {
            package: package.name.clone(),
            version: package.version.clone(),
            file: shown(out),
            size: inspection.size,
            digest: inspection.digest,
            interface: INTERFACE_VERSION,
            sdk: inspection.sdk,
            cases: Inspection::cases(file)?.len(),
            needs,
            wanted,
        })
    }
}

/// Without the current folder, for a person who is in it.
fn shown(path: &Path) -> PathBuf {
    let here = std::env::current_dir().and_then(|here| here.canonicalize());
    let relative = here.ok().and_then(|here| path.strip_prefix(here).ok());
    relative.unwrap_or(path).to_owned()
}

impl Report {
    /// For a person.
    pub(super) fn write(&self, style: Style, out: &mut impl io::Write) -> io::Result<()> {
        let file = self.file.display();
        writeln!(out, "{}", style.bold(&format!("{} {}", self.package, self.version)))?;
        let mut row =
            |label: &str, value: &dyn fmt::Display| writeln!(out, "  {} {value}", style.dim(&format!("{label:<10}")));
        row("file", &file)?;
        row("size", &ByteSize(self.size as u64).display().iec())?;
        row("digest", &format_args!("sha256:{}", self.digest))?;
        row("interface", &format_args!("reprieve:policy@{}", self.interface))?;
        if let Some(sdk) = &self.sdk {
            row("SDK", sdk)?;
        }
        match self.cases {
            0 => row("cases", &"none: a host has nothing to try it on before a swap")?,
            cases => row("cases", &format_args!("{cases}, all passed; a host runs them before each swap"))?,
        }
        match &self.needs {
            Some(needs) => row("needs", &words::needs(needs))?,
            None => row("needs", &"not known before it has settings")?,
        }
        for problem in &self.wanted {
            row("wants", problem)?;
        }
        let settings = if self.wanted.is_empty() { "" } else { " --settings SETTINGS.toml" };
        writeln!(out, "\nNext:\n  reprieve policy check {file}{settings}")
    }
}
