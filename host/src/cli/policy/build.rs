//! `reprieve policy build`

mod cases;
mod compile;
mod hints;
mod package;
mod report;
mod shrink;
mod trial;
mod write;

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::Args;
use reprieve_toolchain::Toolchain;

use super::super::FAILED;
use super::super::style::Style;
use compile::Compiled;
use package::Chosen;
use report::Report;

/// Build a policy's crate to the file that a host loads
///
/// Finds a Rust toolchain that can build for WebAssembly, builds the crate small, puts the cases of its folder `cases` into
/// the file, and loads it as a host would. Says what to install where there is no such toolchain; installs nothing.
///
/// The crate is built with a profile of its own, made for small files; where its Cargo.toml (or that of its workspace) has
/// a [profile.policy], that one is used as it is.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct BuildArguments {
    /// The crate's folder; of a workspace, the one with the policy in it
    #[arg(value_name = "PATH", default_value = ".")]
    path: PathBuf,

    /// Which package of a workspace; not needed where only one is a policy
    #[arg(short, long, value_name = "NAME")]
    package: Option<String>,

    /// The file to write; without it, PACKAGE.wasm in the crate's folder
    #[arg(short, long, value_name = "FILE", conflicts_with = "into")]
    out: Option<PathBuf>,

    /// Write PACKAGE.wasm into this folder, such as a host's policies folder: a host that watches it swaps to the policy at once
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,

    /// Leave the crate's cases out of the file
    #[arg(long)]
    no_cases: bool,

    /// Print what was built as JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  reprieve policy build                              the crate of this folder
  reprieve policy build --into /srv/orders/policies  and to the running host
  reprieve policy build -p by-tenant                 one policy of a workspace
  reprieve policy build --out orders.wasm            under the name that a route gives

Exit codes:
  0  built, and a host would load it
  1  not built; cargo or the message says why
  2  the arguments are wrong";

/// Builds, writes and reports.
///
/// # Errors
/// No toolchain, no policy in the folder, or a file that no host would load.
pub(super) fn build(arguments: &BuildArguments) -> anyhow::Result<ExitCode> {
    let folder = &arguments.path;
    if !folder.is_dir() {
        bail!("there is no folder {}", folder.display());
    }
    let toolchain = Toolchain::find(folder)?;
    let package = package::choose(&toolchain, folder, arguments.package.as_deref())?;
    let out = out(arguments, &package)?;
    let tables = if arguments.no_cases { Vec::new() } else { cases::of(&package)? };
    let module = match compile::compile(&toolchain, &package)? {
        Compiled::Module(module) => module,
        Compiled::Failed { built } => {
            // Cargo has said what is wrong.
            if let Some(hint) = hints::after_failure(&toolchain, &package, &built) {
                eprintln!("\nhint: {hint}");
            }
            return Ok(ExitCode::from(FAILED));
        }
    };
    let file = cases::put(shrink::shrink(&module).context("cannot read what cargo built")?, &tables)?;
    let loaded = trial::load(&toolchain, &package, &file)?;
    write::replace(&out, &file).with_context(|| format!("cannot write {}", out.display()))?;
    let report = Report::new(&package, &out, &file, &loaded)?;
    if arguments.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        report.write(Style::for_stdout(), &mut io::stdout().lock()).context("cannot write the report")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Where the file goes. Asked before the build, which may take a while.
fn out(arguments: &BuildArguments, package: &Chosen) -> anyhow::Result<PathBuf> {
    let own_folder = || package.manifest.parent().unwrap_or(Path::new("."));
    let out = match (&arguments.out, &arguments.into) {
        (Some(file), _) => file.clone(),
        (None, Some(folder)) => folder.join(format!("{}.wasm", package.name)),
        (None, None) => own_folder().join(format!("{}.wasm", package.name)),
    };
    let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        bail!("there is no folder {}: make it first", folder.display());
    }
    if out.is_dir() {
        bail!("{} is a folder: give it with --into, or name a file in it", out.display());
    }
    Ok(out)
}
