//! The Python that tests run their foreign client with: a virtual environment under `target/python` with what
//! `tests/python/requirements.txt` pins.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::workspace;

/// Makes the environment, or finds it as it should be, and gives the path of its interpreter, for
/// `REPRIEVE_TEST_PYTHON`.
///
/// # Errors
/// Where there is no Python 3 with `venv`, or what is pinned cannot be installed.
pub(crate) fn ensure() -> Result<PathBuf> {
    let requirements = workspace::root().join("tests/python/requirements.txt");
    let wanted = fs::read(&requirements).with_context(|| format!("python: cannot read {}", requirements.display()))?;
    let folder = workspace::root().join("target/python");
    let python = folder.join("bin/python");
    // Written last of all, so it vouches for the rest.
    let installed = folder.join("installed-requirements.txt");
    if runs(&python) && fs::read(&installed).is_ok_and(|present| present == wanted) {
        return Ok(python);
    }
    eprintln!("python: setting up {}", folder.display());
    make(&folder)?;
    workspace::run(
        Command::new(&python)
            .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes", "-r"])
            .arg(&requirements),
    )
    .context("python: the client for the tests cannot be installed")?;
    fs::write(&installed, wanted).with_context(|| format!("python: cannot write {}", installed.display()))?;
    Ok(python)
}

/// A fresh environment, whatever is there.
fn make(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(error).with_context(|| format!("python: cannot remove {}", folder.display()));
        }
        _ => {}
    }
    workspace::run(Command::new("python3").args(["-m", "venv"]).arg(folder))
        .context("python: the tests need Python 3 with venv; on Debian: apt-get install python3 python3-venv")
}

/// Whether the interpreter is there and starts: the Python that it was made from may be gone.
fn runs(python: &Path) -> bool {
    Command::new(python).arg("--version").output().is_ok_and(|output| output.status.success())
}
