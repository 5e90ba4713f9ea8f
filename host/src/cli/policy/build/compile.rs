//! Cargo's part: from the package to a module.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::Stdio;

use anyhow::Context as _;
use reprieve_toolchain::Toolchain;
use serde::Deserialize;

use super::package::Chosen;

/// What cargo made of the package.
#[derive(Debug)]
pub(super) enum Compiled {
    /// The module.
    Module(Vec<u8>),
    /// Nothing; cargo said why. The libraries that it had built by then, by name.
    Failed { built: Vec<String> },
}

/// A line of `cargo --message-format=json`.
#[derive(Debug, Deserialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
enum CargoMessage {
    CompilerArtifact {
        manifest_path: PathBuf,
        target: Target,
        filenames: Vec<PathBuf>,
    },
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
struct Target {
    name: String,
}

/// Builds. Cargo's progress and complaints go to standard error as they come.
pub(super) fn compile(toolchain: &Toolchain, package: &Chosen) -> anyhow::Result<Compiled> {
    let mut cargo = toolchain.build();
    cargo.arg("--manifest-path").arg(&package.manifest).args(["--message-format", "json-render-diagnostics"]);
    if !has_own_profile(package)? {
        cargo.args(Toolchain::profile_arguments());
    }
    let mut running = cargo.stdout(Stdio::piped()).spawn().with_context(|| format!("cannot start {toolchain}"))?;
    let stdout = running.stdout.take().expect("its standard output is piped");
    let mut built = Vec::new();
    let mut module = None;
    for line in BufReader::new(stdout).split(b'\n') {
        let line = line.context("cannot read what cargo says")?;
        // Beside cargo's messages, what procedural macros print is there too.
        let Ok(CargoMessage::CompilerArtifact { manifest_path, target, filenames }) = serde_json::from_slice(&line)
        else {
            continue;
        };
        if manifest_path == package.manifest {
            let wasm = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "wasm");
            module = filenames.into_iter().find(wasm).or(module);
        }
        built.push(target.name);
    }
    if !running.wait().context("cannot wait for cargo")?.success() {
        return Ok(Compiled::Failed { built });
    }
    let module = module.with_context(|| format!("cargo built no WebAssembly file of {}", package.name))?;
    Ok(Compiled::Module(fs::read(&module).with_context(|| format!("cannot read {}", module.display()))?))
}

/// Whether the author has a profile of this name, which then holds as it is.
fn has_own_profile(package: &Chosen) -> anyhow::Result<bool> {
    let path = &package.workspace_manifest;
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let manifest: toml::Table = text.parse().with_context(|| format!("cannot read {}", path.display()))?;
    let profile = manifest.get("profile").and_then(|profiles| profiles.get(reprieve_toolchain::PROFILE));
    Ok(profile.is_some())
}
