//! Building policy crates.

use std::fs;

use anyhow::{Context, Result};
use reprieve_toolchain::{PROFILE, TARGET, Toolchain};

use crate::workspace;

/// Where cargo builds policies. A folder of its own: another compiler would make cargo build the whole of `target` again
/// and again.
pub(super) const FOLDER: &str = "target/wasm";

/// Builds these packages, whose names begin with `policy-`, and gives each one's module.
pub(crate) fn build(toolchain: &Toolchain, packages: &[String]) -> Result<Vec<Vec<u8>>> {
    packages.iter().map(|package| build_one(toolchain, package)).collect()
}

fn build_one(toolchain: &Toolchain, package: &str) -> Result<Vec<u8>> {
    let target = workspace::root().join(FOLDER);
    let mut cargo = toolchain.build();
    cargo.current_dir(workspace::root()).args(["--quiet", "--package", package, "--target-dir"]).arg(&target);
    workspace::run(cargo.args(Toolchain::profile_arguments()))?;
    let path = target.join(TARGET).join(PROFILE).join(package.replace('-', "_")).with_extension("wasm");
    fs::read(&path).with_context(|| format!("{package} built no {}", path.display()))
}
