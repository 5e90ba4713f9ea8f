//! What makes a policy small, and the same wherever it is built.

use std::path::{Path, PathBuf};
use std::{env, fs};

use crate::{PROFILE, TARGET};

/// A policy starts with a stack of 128 KiB instead of 1 MiB: less memory to reset after each decision.
const SMALL_STACK: &str = "link-arg=-zstack-size=131072";

/// The profile's settings: quick, which is smaller too than what `s` makes of a policy, and with the names that make a
/// trap's backtrace readable.
const SETTINGS: [&str; 7] = [
    "inherits='release'",
    "opt-level=2",
    "lto=true",
    "codegen-units=1",
    "panic='abort'",
    "debug=false",
    "strip='debuginfo'",
];

pub(crate) fn profile() -> Vec<String> {
    SETTINGS.iter().flat_map(|setting| ["--config".to_owned(), format!("profile.{PROFILE}.{setting}")]).collect()
}

/// A setting for cargo. Cargo joins it with the flags that the author has for the target.
pub(crate) fn rustflags() -> String {
    let mut flags = vec!["-C".to_owned(), SMALL_STACK.to_owned()];
    flags.extend(hide_folders());
    // A literal string of TOML takes everything as it is, but for its own quote.
    let quoted: Vec<_> = flags.iter().filter(|flag| !flag.contains('\'')).map(|flag| format!("'{flag}'")).collect();
    format!("target.{TARGET}.rustflags=[{}]", quoted.join(","))
}

/// Keeps this machine's folders out of the places that panics name.
fn hide_folders() -> Vec<String> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from).or_else(|| Some(env::home_dir()?.join(".cargo")));
    let sources = home.map(|home| folders(&home.join("registry/src"))).unwrap_or_default();
    let texts = sources.iter().filter_map(|folder| folder.to_str());
    texts.map(|folder| format!("--remap-path-prefix={folder}=dependencies")).collect()
}

/// The folders in a folder, in an order that does not depend on the file system.
fn folders(parent: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let mut folders: Vec<_> = entries.map(|entry| entry.path()).collect();
    folders.sort();
    folders
}
