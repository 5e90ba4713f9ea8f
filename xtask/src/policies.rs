//! `cargo xtask policies`: the policies that the host embeds, as committed files.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::{source_digest, wasm, workspace};

/// The crates of `plugins/` that are committed as built files.
const EMBEDDED: [&str; 2] = ["standard", "by-error-kind"];

/// Where they are committed: inside the host's package, so that one from a package registry has them.
const FOLDER: &str = "host/policies";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Build nothing; fail where a committed policy was built from other sources than these
    #[arg(long, conflicts_with = "out")]
    check: bool,
    /// Write the built policies here instead of host/policies
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    if args.check {
        return check();
    }
    let committed = workspace::root().join(FOLDER);
    build(args.out.as_deref().unwrap_or(&committed))
}

/// Builds them into this folder.
pub(crate) fn build(folder: &Path) -> Result<()> {
    let digest = source_digest::of(&sources()?)?;
    let packages = EMBEDDED.map(|name| format!("policy-{name}"));
    let modules = wasm::build(&wasm::toolchain()?, &packages)?;
    for (name, module) in EMBEDDED.iter().zip(modules) {
        let module = source_digest::put(module, &digest);
        let path = folder.join(name).with_extension("wasm");
        workspace::write_if_changed(&path, &module)?;
        println!("{}: {} bytes, from sources {digest}", path.display(), module.len());
    }
    Ok(())
}

/// That the committed ones were built from the sources as they are.
pub(crate) fn check() -> Result<()> {
    let digest = source_digest::of(&sources()?)?;
    for name in EMBEDDED {
        let path = workspace::root().join(FOLDER).join(name).with_extension("wasm");
        let module = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let built_from = source_digest::get(&module).with_context(|| format!("in {}", path.display()))?;
        if built_from != digest {
            bail!(
                "{} was built from other sources than these ({built_from}, not {digest}): \
                 run `cargo xtask policies` and commit what it writes",
                path.display()
            );
        }
    }
    println!("the committed policies were built from these sources");
    Ok(())
}

/// What shapes them: `Cargo.toml` and `src/` of the SDK and of every crate in `plugins/`, files named `tests.rs` left
/// out, and the policy interface.
fn sources() -> Result<Vec<PathBuf>> {
    let sdk = workspace::root().join("plugin-sdk");
    let plugins = workspace::folders("plugins")?.into_iter().map(|name| workspace::root().join("plugins").join(name));
    let mut files = workspace::files_below(&sdk.join("wit"))?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "wit"));
    for package in plugins.chain([sdk]) {
        files.push(package.join("Cargo.toml"));
        files.extend(workspace::files_below(&package.join("src"))?);
    }
    files.retain(|file| file.file_name().is_none_or(|name| name != "tests.rs"));
    Ok(files)
}
