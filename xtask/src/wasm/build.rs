//! Building policy crates.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::{env, fs};

use anyhow::{Context, Result};

use super::{TARGET, WasmToolchain};
use crate::workspace;

/// Builds these packages, whose names begin with `policy-`, and gives each one's module.
pub(crate) fn build(toolchain: &WasmToolchain, packages: &[String]) -> Result<Vec<Vec<u8>>> {
    let named = packages.iter().flat_map(|package| ["--package".as_ref(), OsStr::new(package)]);
    let folder = cargo_build(toolchain, "policy", named)?;
    packages.iter().map(|package| read(&folder, package)).collect()
}

/// Builds the package that is a workspace of its own in this folder, as its lock file says, and gives its module.
pub(crate) fn build_alone(toolchain: &WasmToolchain, folder: &Path, package: &str) -> Result<Vec<u8>> {
    let manifest = folder.join("Cargo.toml");
    let built =
        cargo_build(toolchain, "policy", ["--locked".as_ref(), "--manifest-path".as_ref(), manifest.as_os_str()])?;
    read(&built, package)
}

/// Runs `cargo build` for wasm32 and gives the folder that the modules are in.
pub(crate) fn cargo_build<'a>(
    toolchain: &WasmToolchain,
    profile: &str,
    arguments: impl IntoIterator<Item = &'a OsStr>,
) -> Result<PathBuf> {
    // A folder of its own: another compiler would make cargo build the whole of `target` again and again.
    let target = workspace::root().join("target/wasm");
    let mut cargo = toolchain.cargo();
    cargo.args(["build", "--quiet", "--profile", profile, "--target", TARGET, "--target-dir"]).arg(&target);
    cargo.args(arguments);
    // Joined by cargo with the flags in .cargo/config.toml.
    workspace::run(cargo.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS", hide_machine_paths().join(" ")))?;
    // The profile `dev` builds to `debug`.
    Ok(target.join(TARGET).join(if profile == "dev" { "debug" } else { profile }))
}

fn read(folder: &Path, package: &str) -> Result<Vec<u8>> {
    let path = folder.join(package.replace('-', "_")).with_extension("wasm");
    fs::read(&path).with_context(|| format!("{package} built no {}: is its crate type `cdylib`?", path.display()))
}

/// Flags that keep this machine's folders out of the places that panics name.
fn hide_machine_paths() -> Vec<String> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from).or_else(|| Some(env::home_dir()?.join(".cargo")));
    let sources = home.and_then(|home| fs::read_dir(home.join("registry/src")).ok());
    let folders = sources.into_iter().flatten().flatten().map(|entry| entry.path());
    folders.map(|folder| format!("--remap-path-prefix={}=dependencies", folder.display())).collect()
}
