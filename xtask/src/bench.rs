//! `cargo xtask bench`: builds the program in release and measures it beside what it is held against.

mod comparison;

use crate::{rabbitmq, test_policies, workspace};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only the measurements whose name holds this: decisions, rejected-swaps, program, queue, sleepers
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Instead: one decision by Reprieve beside the same in native Rust, Extism, Rego and rhai; builds for some minutes
    #[arg(long, conflicts_with = "names")]
    comparison: bool,
    /// Measure nothing; only see that the comparison builds and that all its ways decide the same
    #[arg(long, requires = "comparison")]
    check: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    if args.comparison {
        return comparison::run(args.check);
    }
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
