//! A mutant's file.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

pub(super) struct Patch {
    pub(super) path: PathBuf,
    pub(super) name: String,
    pub(super) rule: String,
    pub(super) breaks: String,
    /// Arguments of `cargo test`.
    pub(super) suite: Vec<String>,
}

impl Patch {
    pub(super) fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let field = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            line.map(|value| value.trim().to_owned())
                .with_context(|| format!("{} has no line `{name}`", path.display()))
        };
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let suite = field("Suite:")?.split_whitespace().map(str::to_owned).collect();
        Ok(Self { path: path.to_owned(), name, rule: field("Rule:")?, breaks: field("Breaks:")?, suite })
    }
}
