//! Building policy crates.

use std::path::{Path, PathBuf};
use std::{env, fs};

use anyhow::{Context, Result};

use super::{TARGET, WasmToolchain};
use crate::workspace;

/// Builds these packages, whose names begin with `policy-`, and gives each one's module.
pub(crate) fn build(toolchain: &WasmToolchain, packages: &[String]) -> Result<Vec<Vec<u8>>> {
    // A folder of its own: another compiler would make cargo build the whole of `target` again and again.
    let target = workspace::root().join("target/wasm");
    let mut cargo = toolchain.cargo();
    cargo.args(["build", "--quiet", "--profile", "policy", "--target", TARGET, "--target-dir"]).arg(&target);
    for package in packages {
        cargo.args(["--package", package]);
    }
    // Joined by cargo with the flags in .cargo/config.toml.
    workspace::run(cargo.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS", hide_machine_paths().join(" ")))?;

    let folder = target.join(TARGET).join("policy");
    packages.iter().map(|package| read(&folder, package)).collect()
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
