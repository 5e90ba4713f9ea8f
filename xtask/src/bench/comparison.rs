//! `cargo xtask bench --comparison`: one decision made in several ways, in `benches/comparison`, a workspace of its own.

use std::path::Path;
use std::process::Command;

use anyhow::Result;
use reprieve_toolchain::{PROFILE, TARGET};

use crate::{wasm, workspace};

const FOLDER: &str = "benches/comparison";

/// Builds it and what it loads, and measures; or, with `check`, only tests its rules and that all ways say the same.
pub(super) fn run(check: bool) -> Result<()> {
    let folder = workspace::root().join(FOLDER);
    let target = folder.join("target/wasm");
    let toolchain = wasm::toolchain()?;
    let build = |cargo: &mut Command, package| {
        workspace::run(in_folder(cargo, &folder).args(["--package", package, "--target-dir"]).arg(&target))
    };
    // Each as its authors would have it: policies small, Extism's plug-ins as cargo makes them for a release.
    build(&mut toolchain.build(), "policy-comparison")?;
    build(toolchain.cargo().args(["build", "--release", "--target", TARGET]), "extism-guest")?;
    if check {
        let mut cargo = workspace::cargo();
        workspace::run(in_folder(cargo.args(["test", "--release", "--package", "comparison-rules"]), &folder))?;
    }
    let built = target.join(TARGET);
    let mut cargo = workspace::cargo();
    in_folder(cargo.args(["run", "--release"]), &folder);
    cargo.args(["--", "--policy"]).arg(built.join(PROFILE).join("policy_comparison.wasm"));
    cargo.arg("--extism-guest").arg(built.join("release/extism_guest.wasm"));
    if check {
        cargo.arg("--check");
    }
    workspace::run(&mut cargo)
}

/// In that workspace, with the versions that its own lock file has.
fn in_folder<'a>(cargo: &'a mut Command, folder: &Path) -> &'a mut Command {
    cargo.current_dir(folder).args(["--locked", "--quiet"])
}
