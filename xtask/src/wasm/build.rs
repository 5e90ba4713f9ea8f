//! Building policy crates.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use reprieve_toolchain::{PROFILE, TARGET, Toolchain};

use crate::workspace;

/// Builds these packages, whose names begin with `policy-`, and gives each one's module.
pub(crate) fn build(toolchain: &Toolchain, packages: &[String]) -> Result<Vec<Vec<u8>>> {
    // A folder of its own: another compiler would make cargo build the whole of `target` again and again.
    let target = workspace::root().join("target/wasm");
    let mut cargo = toolchain.build();
    cargo.current_dir(workspace::root()).args(["--quiet", "--target-dir"]).arg(&target);
    for package in packages {
        cargo.args(["--package", package]);
    }
    workspace::run(&mut cargo)?;

    let folder = target.join(TARGET).join(PROFILE);
    packages.iter().map(|package| read(&folder, package)).collect()
}

fn read(folder: &Path, package: &str) -> Result<Vec<u8>> {
    let path = folder.join(package.replace('-', "_")).with_extension("wasm");
    fs::read(&path).with_context(|| format!("{package} built no {}: is its crate type `cdylib`?", path.display()))
}
