//! `cargo xtask policies`: the policies of `plugins/` as built files. Those that the host embeds are committed.

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
    /// Build every policy of `plugins/` into this folder instead of the embedded ones into host/policies
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    if args.check {
        return check();
    }
    match &args.out {
        Some(folder) => build_all(folder),
        None => build(&EMBEDDED, &workspace::root().join(FOLDER)),
    }
}

/// Builds all of `plugins/` into this folder, those that the host embeds and those that it does not.
pub(crate) fn build_all(folder: &Path) -> Result<()> {
    let names = workspace::folders("plugins")?;
    build(&names.iter().map(String::as_str).collect::<Vec<_>>(), folder)
}

fn build(names: &[&str], folder: &Path) -> Result<()> {
    let digest = source_digest::of(&sources()?)?;
    let packages: Vec<_> = names.iter().map(|name| format!("policy-{name}")).collect();
    let modules = wasm::build(&wasm::toolchain()?, &packages)?;
    for (name, mut module) in names.iter().zip(modules) {
        if EMBEDDED.contains(name) {
            module = source_digest::put(module, &digest);
        }
        let path = folder.join(name).with_extension("wasm");
        workspace::write_if_changed(&path, &module)?;
        println!("{}: {} bytes", path.display(), module.len());
    }
    println!("from sources {digest}");
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

/// What shapes the embedded ones: `Cargo.toml` and `src/` of the SDK and of each of them, files named `tests.rs` left
/// out, and the policy interface.
fn sources() -> Result<Vec<PathBuf>> {
    let sdk = workspace::root().join("plugin-sdk");
    let plugins = EMBEDDED.map(|name| workspace::root().join("plugins").join(name));
    let mut files = workspace::files_below(&sdk.join("wit"))?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "wit"));
    for package in plugins.into_iter().chain([sdk]) {
        files.push(package.join("Cargo.toml"));
        files.extend(workspace::files_below(&package.join("src"))?);
    }
    files.retain(|file| file.file_name().is_none_or(|name| name != "tests.rs"));
    Ok(files)
}
