//! Building policy crates.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

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
    let mut cargo = toolchain.build();
    cargo.current_dir(workspace::root()).args(["--package", package]).args(Toolchain::profile_arguments());
    read(&run(&mut cargo, PROFILE)?, package)
}

/// Builds the package that is a workspace of its own in this folder, as its lock file and its own profile say, and gives
/// its module.
pub(crate) fn build_alone(toolchain: &Toolchain, folder: &Path, package: &str) -> Result<Vec<u8>> {
    read(&run(toolchain.build().current_dir(folder).arg("--locked"), PROFILE)?, package)
}

/// Builds the examples of the package that is a workspace of its own in this folder, as quickly as can be, and gives the
/// folder that their modules are in.
pub(crate) fn build_examples(toolchain: &Toolchain, folder: &Path) -> Result<PathBuf> {
    let mut cargo = toolchain.cargo();
    cargo.current_dir(folder).args(["build", "--examples", "--offline", "--target", TARGET]);
    Ok(run(&mut cargo, "debug")?.join("examples"))
}

/// Runs cargo, and gives the folder that it puts what it built with this profile into.
fn run(cargo: &mut Command, profile: &str) -> Result<PathBuf> {
    let target = workspace::root().join(FOLDER);
    workspace::run(cargo.args(["--quiet", "--target-dir"]).arg(&target))?;
    Ok(target.join(TARGET).join(profile))
}

fn read(folder: &Path, package: &str) -> Result<Vec<u8>> {
    let path = folder.join(package.replace('-', "_")).with_extension("wasm");
    fs::read(&path).with_context(|| format!("{package} built no {}", path.display()))
}
