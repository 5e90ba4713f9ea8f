//! `cargo xtask frozen`: a policy for each released version of the interface, which every later host has to load.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::{source_digest, wasm, workspace};

/// A folder for each version, named after it: the interface, a policy's sources, the policy.
const FOLDER: &str = "tests/frozen";
const PACKAGE: &str = "frozen-policy";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Build nothing; fail where a frozen policy is missing, or its sources were changed
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    if args.check { check() } else { build_missing() }
}

/// Builds the policies that are not there yet. One that is there is never built again: it stands for all that people
/// have built.
fn build_missing() -> Result<()> {
    for folder in folders()? {
        let policy = folder.join("policy.wasm");
        if policy.exists() {
            println!("{}: is there already, and stays as it is", policy.display());
            continue;
        }
        let module = wasm::build_alone(&wasm::toolchain()?, &folder, PACKAGE)?;
        let module = source_digest::put(module, &source_digest::of(&sources(&folder)?)?);
        workspace::write_if_changed(&policy, &module)?;
        println!("{}: {} bytes", policy.display(), module.len());
    }
    Ok(())
}

/// That each was built from the sources beside it.
pub(crate) fn check() -> Result<()> {
    for folder in folders()? {
        let policy = folder.join("policy.wasm");
        let module = fs::read(&policy).with_context(|| format!("cannot read {}", policy.display()))?;
        let built_from = source_digest::get(&module).with_context(|| format!("in {}", policy.display()))?;
        if built_from != source_digest::of(&sources(&folder)?)? {
            bail!(
                "{} was built from other sources than those beside it. A released version of the interface and its \
                 policy never change: take the change back",
                policy.display()
            );
        }
        println!("{}: was built from the sources beside it", policy.display());
    }
    Ok(())
}

fn folders() -> Result<Vec<PathBuf>> {
    Ok(workspace::folders(FOLDER)?.into_iter().map(|version| workspace::root().join(FOLDER).join(version)).collect())
}

fn sources(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = vec![folder.join("Cargo.toml"), folder.join("Cargo.lock")];
    files.extend(workspace::files_below(&folder.join("src"))?);
    files.extend(workspace::files_below(&folder.join("wit"))?);
    Ok(files)
}
