//! `reprieve policy new`

mod name;
mod sdk;
mod template;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context as _, bail};
use clap::Args;
use serde::Deserialize;

/// Make a crate with a policy that builds, to change into your own
///
/// It has settings, a decision by the kind of error, tests that run without WebAssembly, and a table of cases that the
/// built policy carries. In a cargo workspace it becomes a member, as with `cargo new`.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct NewArguments {
    /// The crate's name; also that of the policy, and of the file that is built: NAME.wasm
    #[arg(value_name = "NAME", value_parser = name::parse)]
    name: String,

    /// The new crate's folder, which must not be there yet; without it, NAME in this folder
    #[arg(long, value_name = "DIR")]
    path: Option<PathBuf>,

    /// Take the SDK from this folder instead of the registry: `plugin-sdk` of a copy of Reprieve's repository
    #[arg(long, value_name = "DIR")]
    sdk_path: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  reprieve policy new orders-policy
  reprieve policy new orders-policy --sdk-path ~/reprieve/plugin-sdk
  reprieve policy new orders-policy --path policies/orders

The SDK is the crate reprieve-sdk of this program's version. Where a registry does not have it, give --sdk-path.

Exit codes:
  0  made
  1  not made; the message says why
  2  the arguments are wrong";

/// Makes the crate and says what to do with it.
///
/// # Errors
/// The folder is there already or cannot be made, there is no cargo, or the SDK is not where it should be.
pub(super) fn new(arguments: &NewArguments) -> anyhow::Result<ExitCode> {
    let name = &arguments.name;
    let folder = arguments.path.clone().unwrap_or_else(|| PathBuf::from(name));
    if folder.symlink_metadata().is_ok() {
        bail!("{} is there already: choose another NAME, or another folder with --path", folder.display());
    }
    let sdk_folder = arguments.sdk_path.as_deref().map(sdk::folder).transpose()?;
    cargo_new(name, &folder)?;
    let dependency = sdk::dependency(sdk_folder.as_deref(), &folder)?;
    for file in template::FILES {
        let path = folder.join(file.path);
        let parent = path.parent().unwrap_or(&folder);
        fs::create_dir_all(parent).with_context(|| format!("cannot make the folder {}", parent.display()))?;
        let content = file.content.replace("{name}", name).replace("{sdk}", &dependency);
        fs::write(&path, content).with_context(|| format!("cannot write {}", path.display()))?;
    }
    println!("{name}, a policy that builds, is in {}:", folder.display());
    for file in template::FILES {
        println!("  {:<26} {}", file.path, file.purpose);
    }
    if let Some(root) = enclosing_workspace(&folder)? {
        println!("\nIt is a member of the workspace {}.", root.display());
    }
    println!("\nNext:\n  cd {}\n  cargo test\n  reprieve policy build", folder.display());
    Ok(ExitCode::SUCCESS)
}

/// Cargo makes the folder: it knows which names it takes, and how a workspace gets a new member.
fn cargo_new(name: &str, folder: &Path) -> anyhow::Result<()> {
    let mut cargo = Command::new("cargo");
    cargo.args(["new", "--quiet", "--lib", "--vcs", "none", "--name", name, "--"]).arg(folder);
    said(&mut cargo)?;
    Ok(())
}

/// The root of the workspace that the crate is a member of, where it is not alone.
fn enclosing_workspace(folder: &Path) -> anyhow::Result<Option<PathBuf>> {
    #[derive(Deserialize)]
    struct Metadata {
        workspace_root: PathBuf,
    }
    let folder = folder.canonicalize().with_context(|| format!("cannot find {}", folder.display()))?;
    let mut cargo = Command::new("cargo");
    cargo.args(["metadata", "--no-deps", "--format-version", "1"]).current_dir(&folder);
    let metadata: Metadata =
        serde_json::from_str(&said(&mut cargo)?).context("cannot read what `cargo metadata` says")?;
    Ok(Some(metadata.workspace_root).filter(|root| *root != folder))
}

/// What cargo prints.
fn said(cargo: &mut Command) -> anyhow::Result<String> {
    let output = cargo.output().context("cannot start cargo: policies are built with Rust, see https://rustup.rs")?;
    if output.status.success() {
        return String::from_utf8(output.stdout).context("what cargo prints is not UTF-8");
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    let complaint = complaint.trim();
    bail!("{}", complaint.strip_prefix("error: ").unwrap_or(complaint))
}
