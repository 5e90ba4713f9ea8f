//! Cargo's part: from the package to a module.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::Context as _;
use reprieve_toolchain::{PROFILE, Toolchain};
use serde::Deserialize;

use super::package::{Chosen, folder_of};

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
    cargo
        .current_dir(folder_of(&package.manifest))
        .arg("--manifest-path")
        .arg(&package.manifest)
        .args(["--message-format", "json-render-diagnostics"]);
    cargo.args(profile_arguments(&package.workspace_manifest)?);
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

/// What makes the profile, unless the author has one of this name, which then holds as it is.
fn profile_arguments(manifest: &Path) -> anyhow::Result<Vec<String>> {
    let text = fs::read_to_string(manifest).with_context(|| format!("cannot read {}", manifest.display()))?;
    let table: toml::Table = text.parse().with_context(|| format!("cannot read {}", manifest.display()))?;
    let own = table.get("profile").and_then(|profiles| profiles.get(PROFILE));
    Ok(if own.is_some() { Vec::new() } else { Toolchain::profile_arguments() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_of_the_authors_own_is_not_overruled() {
        let folder = tempfile::tempdir().unwrap();
        let arguments = |profiles: &str| {
            let manifest = folder.path().join("Cargo.toml");
            fs::write(&manifest, format!("[workspace]\n{profiles}")).unwrap();
            profile_arguments(&manifest).unwrap()
        };
        assert_eq!(arguments(""), Toolchain::profile_arguments());
        assert_eq!(arguments("[profile.release]\nopt-level = 3"), Toolchain::profile_arguments());
        assert_eq!(arguments("[profile.policy]\nopt-level = 3"), [""; 0]);
    }
}
