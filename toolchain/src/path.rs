//! Programs on the `PATH`.

use std::env;
use std::path::{Path, PathBuf};

/// The folders of the `PATH`, in order, each once.
pub(crate) fn folders() -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let mut known = Vec::new();
    // One may be a link to another, as /bin is to /usr/bin.
    env::split_paths(&path).filter(|folder| folder.canonicalize().is_ok_and(|real| is_new(&mut known, real))).collect()
}

fn is_new(known: &mut Vec<PathBuf>, folder: PathBuf) -> bool {
    let new = !known.contains(&folder);
    if new {
        known.push(folder);
    }
    new
}

/// This program in this folder, where it is there.
pub(crate) fn program(folder: &Path, name: &str) -> Option<PathBuf> {
    Some(folder.join(format!("{name}{}", env::consts::EXE_SUFFIX))).filter(|program| program.is_file())
}

/// The first of these programs that is on the `PATH`.
pub(crate) fn find(names: &[&str]) -> Option<PathBuf> {
    names.iter().find_map(|name| folders().iter().find_map(|folder| program(folder, name)))
}
