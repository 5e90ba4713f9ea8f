//! What was built, for people and for programs.

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use bytesize::ByteSize;
use serde::Serialize;

use super::package::Chosen;
use super::trial::Loaded;
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

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.display();
        writeln!(f, "{} {}", self.package, self.version)?;
        writeln!(f, "  file       {file}")?;
        writeln!(f, "  size       {}", ByteSize(self.size as u64).display().iec())?;
        writeln!(f, "  digest     sha256:{}", self.digest)?;
        writeln!(f, "  interface  reprieve:policy@{}", self.interface)?;
        if let Some(sdk) = &self.sdk {
            writeln!(f, "  SDK        {sdk}")?;
        }
        match self.cases {
            0 => writeln!(f, "  cases      none: a host has nothing to try it on before a swap")?,
            cases => writeln!(f, "  cases      {cases}, all passed; a host runs them before each swap")?,
        }
        match &self.needs {
            Some(needs) => writeln!(f, "  needs      {}", Needed(needs))?,
            None => writeln!(f, "  needs      not known before it has settings")?,
        }
        for problem in &self.wanted {
            writeln!(f, "  wants      {problem}")?;
        }
        writeln!(f, "\nNext:")?;
        match self.wanted.is_empty() {
            true => writeln!(f, "  reprieve policy check {file}"),
            false => writeln!(f, "  reprieve policy check {file} --settings SETTINGS.toml"),
        }
    }
}

/// What a policy needs, in words.
struct Needed<'a>(&'a Needs);

impl fmt::Display for Needed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.headers.as_deref() {
            None => write!(f, "all headers")?,
            Some([]) => write!(f, "no headers")?,
            Some(names) => write!(f, "the headers {}", names.join(", "))?,
        }
        match self.0.body {
            None => write!(f, ", no body"),
            Some(bytes) => write!(f, ", the first {} of the body", ByteSize(bytes as u64).display().iec()),
        }
    }
}
