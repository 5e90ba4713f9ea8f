//! `cargo xtask bench`: builds the program in release and measures it beside what it is held against.

use anyhow::{Context as _, ensure};

use crate::{rabbitmq, workspace};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only the measurements whose name holds this: decisions, program, queue
    #[arg(value_name = "NAME")]
    names: Vec<String>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let address = rabbitmq::ensure()?;
    cargo(&["build", "--release", "-p", "reprieve"], None)?;
    let mut bench = vec!["bench", "-p", "reprieve-tests", "--bench", "speed", "--"];
    bench.extend(args.names.iter().map(String::as_str));
    cargo(&bench, Some(&address.to_string()))
}

fn cargo(args: &[&str], rabbitmq: Option<&str>) -> anyhow::Result<()> {
    let mut command = std::process::Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args).current_dir(workspace::root());
    if let Some(url) = rabbitmq {
        command.env("REPRIEVE_TEST_RABBITMQ", url);
    }
    let status = command.status().context("cannot start cargo")?;
    ensure!(status.success(), "cargo {} failed", args.join(" "));
    Ok(())
}
