//! One cargo and rustc on the `PATH`, and what they can do.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use crate::{BUILT_BY, TARGET, built_by, path};

/// A cargo with the rustc beside it.
#[derive(Debug)]
pub(crate) struct Candidate {
    folder: PathBuf,
    pub(crate) cargo: PathBuf,
    pub(crate) rustc: PathBuf,
}

/// What a candidate says of itself.
#[derive(Debug)]
pub(crate) struct Examined {
    /// Such as `rustc 1.95.0`.
    pub(crate) version: String,
    /// Whether the standard library for [`TARGET`] is there.
    pub(crate) has_library: bool,
    /// The linker that came with it.
    pub(crate) linker: Option<PathBuf>,
}

impl Candidate {
    /// All that are on the `PATH`, in its order.
    pub(crate) fn all() -> Vec<Self> {
        let both = |folder: PathBuf| {
            let (cargo, rustc) = (path::program(&folder, "cargo")?, path::program(&folder, "rustc")?);
            Some(Self { folder, cargo, rustc })
        };
        path::folders().into_iter().filter_map(both).collect()
    }

    /// What it can do in this folder.
    ///
    /// # Errors
    /// What it says where it cannot even tell.
    pub(crate) fn examine(&self, folder: &Path) -> Result<Examined, String> {
        let verbose_version = self.ask(folder, &["--version", "--verbose"])?;
        let full_version = verbose_version.lines().next().unwrap_or_default();
        let printed = self.ask(folder, &["--print", "target-libdir", "--print", "sysroot", "--target", TARGET])?;
        let mut printed = printed.lines().map(Path::new);
        let (Some(library), Some(sysroot)) = (printed.next(), printed.next()) else {
            return Err("it does not say where its libraries are".to_owned());
        };
        let host = verbose_version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or_default();
        Ok(Examined {
            version: full_version.split(" (").next().unwrap_or_default().to_owned(),
            has_library: has_core(library) && is_built_by(library, full_version),
            linker: path::program(&sysroot.join("lib/rustlib").join(host).join("bin"), "rust-lld"),
        })
    }

    /// What makes its cargo use its rustc where another comes first on the `PATH`.
    pub(crate) fn environment(&self) -> Vec<(&'static str, OsString)> {
        if path::find(&["rustc"]).is_some_and(|first| first == self.rustc) {
            return Vec::new();
        }
        let others = env::var_os("PATH").unwrap_or_default();
        let folders = [self.folder.clone()].into_iter().chain(env::split_paths(&others));
        let path = env::join_paths(folders).unwrap_or(others);
        vec![("PATH", path), ("RUSTC", self.rustc.clone().into())]
    }

    fn ask(&self, folder: &Path, arguments: &[&str]) -> Result<String, String> {
        let mut rustc = Command::new(&self.rustc);
        // rustup would install a toolchain that the folder asks for and that is missing.
        rustc.args(arguments).current_dir(folder).env("RUSTUP_AUTO_INSTALL", "0");
        let output = rustc.output().map_err(|error| format!("it cannot be started: {error}"))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let complaint = String::from_utf8_lossy(&output.stderr);
        Err(complaint.lines().find(|line| !line.trim().is_empty()).unwrap_or("it fails without a word").to_owned())
    }
}

/// Whether a folder holds a compiled `core`.
fn has_core(library: &Path) -> bool {
    fs::read_dir(library).is_ok_and(|entries| {
        entries.flatten().any(|entry| {
            let name = entry.file_name();
            name.to_string_lossy().starts_with("libcore-") && name.to_string_lossy().ends_with(".rlib")
        })
    })
}

fn is_built_by(library: &Path, version: &str) -> bool {
    fs::read_to_string(library.join(BUILT_BY)).map_or(true, |compiler| compiler.trim_end() == built_by(version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_counts_where_core_is_there_and_no_other_compiler_built_it() {
        let library = tempfile::tempdir().unwrap();
        let usable = |version| has_core(library.path()) && is_built_by(library.path(), version);
        assert!(!usable("rustc 1.95.0"), "it is empty");
        fs::write(library.path().join("libcore-0123.rlib"), "").unwrap();
        assert!(usable("rustc 1.95.0"), "rustup's says nothing of its compiler");
        fs::write(library.path().join(BUILT_BY), built_by("rustc 1.95.0")).unwrap();
        assert!(usable("rustc 1.95.0"));
        assert!(!usable("rustc 1.96.0"), "another compiler cannot use it");
    }
}
