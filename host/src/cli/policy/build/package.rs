//! Which package is to be built.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use reprieve_toolchain::Toolchain;
use serde::Deserialize;

/// The package of the policy's SDK, on which every policy depends.
pub(super) const SDK: &str = "reprieve-sdk";

/// What cargo says of a workspace, or of a package alone.
#[derive(Debug, Deserialize)]
struct Workspace {
    packages: Vec<Package>,
    workspace_root: PathBuf,
}

#[derive(Debug, Clone, Deserialize)]
struct Package {
    name: String,
    version: String,
    manifest_path: PathBuf,
    dependencies: Vec<Dependency>,
    targets: Vec<Target>,
}

#[derive(Debug, Clone, Deserialize)]
struct Dependency {
    name: String,
}

#[derive(Debug, Clone, Deserialize)]
struct Target {
    crate_types: Vec<String>,
}

impl Package {
    fn is_policy(&self) -> bool {
        self.dependencies.iter().any(|dependency| dependency.name == SDK)
    }

    fn is_library(&self) -> bool {
        let library = |kind: &String| ["lib", "rlib", "cdylib", "dylib", "staticlib"].contains(&kind.as_str());
        self.targets.iter().any(|target| target.crate_types.iter().any(library))
    }
}

/// The package that was chosen.
#[derive(Debug)]
pub(super) struct Chosen {
    pub(super) name: String,
    pub(super) version: String,
    /// Its `Cargo.toml`.
    pub(super) manifest: PathBuf,
    /// The `Cargo.toml` that has the profiles.
    pub(super) workspace_manifest: PathBuf,
}

/// The package in this folder, or of this name in the folder's workspace.
pub(super) fn choose(toolchain: &Toolchain, folder: &Path, wanted: Option<&str>) -> anyhow::Result<Chosen> {
    let manifest = nearest_manifest(folder)?;
    let workspace = workspace(toolchain, &manifest)?;
    let package = match wanted {
        Some(name) => of_name(&workspace, name)?,
        None => of_manifest(&workspace, &manifest)?,
    };
    if !package.is_policy() {
        bail!("{} is no policy: it does not depend on {SDK}; make one with `reprieve policy new NAME`", package.name);
    }
    if !package.is_library() {
        bail!("{} has no library: a policy's code is in src/lib.rs, not in src/main.rs", package.name);
    }
    Ok(Chosen {
        name: package.name.clone(),
        version: package.version.clone(),
        manifest: package.manifest_path.clone(),
        workspace_manifest: workspace.workspace_root.join("Cargo.toml"),
    })
}

/// As cargo finds it: in the folder, or in the next one above that has one.
fn nearest_manifest(folder: &Path) -> anyhow::Result<PathBuf> {
    let folder = folder.canonicalize().with_context(|| format!("there is no folder {}", folder.display()))?;
    let found = folder.ancestors().map(|folder| folder.join("Cargo.toml")).find(|manifest| manifest.is_file());
    found.with_context(|| {
        format!(
            "there is no Cargo.toml in {} or above it: give the policy's folder, or make one with `reprieve policy new NAME`",
            folder.display()
        )
    })
}

/// Where cargo is run: rustup chooses the toolchain, and cargo its configuration, by the folder and not by the manifest.
pub(super) fn folder_of(manifest: &Path) -> &Path {
    manifest.parent().unwrap_or(manifest)
}

fn workspace(toolchain: &Toolchain, manifest: &Path) -> anyhow::Result<Workspace> {
    let mut cargo = toolchain.cargo();
    cargo.current_dir(folder_of(manifest));
    cargo.args(["metadata", "--no-deps", "--format-version", "1", "--manifest-path"]).arg(manifest);
    let output = cargo.output().with_context(|| format!("cannot start {toolchain}"))?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        let complaint = complaint.trim();
        bail!("{}", complaint.strip_prefix("error: ").unwrap_or(complaint));
    }
    serde_json::from_slice(&output.stdout).context("cannot read what `cargo metadata` says")
}

fn of_name<'w>(workspace: &'w Workspace, name: &str) -> anyhow::Result<&'w Package> {
    workspace.packages.iter().find(|package| package.name == name).with_context(|| {
        let policies = policies(workspace);
        match policies.is_empty() {
            true => format!("no package is called {name}, and none here is a policy"),
            false => format!("no package is called {name}; policies here: {}", policies.join(", ")),
        }
    })
}

fn of_manifest<'w>(workspace: &'w Workspace, manifest: &Path) -> anyhow::Result<&'w Package> {
    if let Some(package) = workspace.packages.iter().find(|package| package.manifest_path == manifest) {
        return Ok(package);
    }
    match policies(workspace).as_slice() {
        [] => bail!("no package of the workspace {} is a policy", workspace.workspace_root.display()),
        [only] => of_name(workspace, only),
        several => bail!("this workspace has several policies; choose one with -p: {}", several.join(", ")),
    }
}

fn policies(workspace: &Workspace) -> Vec<&str> {
    workspace.packages.iter().filter(|package| package.is_policy()).map(|package| package.name.as_str()).collect()
}
