//! `cargo xtask deny`: licences, sources and duplicates of what we depend on, as `deny.toml` has it.

use anyhow::{Context, Result};

use crate::workspace;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Also look for known vulnerabilities, in a database that is fetched for it
    #[arg(long)]
    advisories: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    workspace::output(workspace::cargo().args(["deny", "--version"]))
        .context("cargo-deny is missing: run `cargo install --locked cargo-deny`")?;
    let mut cargo = workspace::cargo();
    cargo.args(["deny", "check", "bans", "licenses", "sources"]);
    if args.advisories {
        cargo.arg("advisories");
    }
    workspace::run(&mut cargo)
}
