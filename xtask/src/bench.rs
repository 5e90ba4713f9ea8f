//! `cargo xtask bench`: builds the program in release and measures it beside what it is held against.

use crate::{rabbitmq, test_policies, workspace};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only the measurements whose name holds this: decisions, rejected-swaps, program, queue
    #[arg(value_name = "NAME")]
    names: Vec<String>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let address = rabbitmq::ensure()?;
    test_policies::run()?;
    cargo(&["build", "--release", "-p", "reprieve"], None)?;
    let mut bench = vec!["bench", "-p", "reprieve-tests", "--bench", "speed", "--"];
    bench.extend(args.names.iter().map(String::as_str));
    cargo(&bench, Some(&address.url()))
}

fn cargo(args: &[&str], rabbitmq: Option<&str>) -> anyhow::Result<()> {
    let mut command = workspace::cargo();
    command.args(args);
    if let Some(url) = rabbitmq {
        command.env("REPRIEVE_TEST_RABBITMQ", url);
    }
    workspace::run(&mut command)
}
