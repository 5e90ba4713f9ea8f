//! `cargo xtask bench`: builds the program in release and measures it beside what it is held against.

mod comparison;

use crate::{kafka, rabbitmq, test_policies, workspace};

/// The measurements that need a broker.
const RABBITMQ: &str = "queue-rabbitmq";
const KAFKA: &str = "queue-kafka";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only the measurements whose name holds this: decisions, rejected-swaps, program, backtest, journal, queue-rabbitmq, queue-kafka,
    /// sleepers
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
    // Each only where it is needed: Kafka alone needs Java and its jars.
    let rabbitmq = args.want(RABBITMQ).then(rabbitmq::ensure).transpose()?;
    let kafka = args.want(KAFKA).then(kafka::ensure).transpose()?;
    test_policies::run()?;
    workspace::run(workspace::cargo().args(["build", "--release", "-p", "reprieve"]))?;
    let mut bench = workspace::cargo();
    bench.args(["bench", "-p", "reprieve-tests", "--bench", "speed", "--"]).args(&args.names);
    if let Some(rabbitmq) = &rabbitmq {
        bench.env("REPRIEVE_TEST_RABBITMQ", rabbitmq.url());
    }
    if let Some(kafka) = &kafka {
        bench.env("REPRIEVE_TEST_KAFKA", kafka.address());
    }
    workspace::run(&mut bench)
}

impl Args {
    /// As the measurements themselves decide it.
    fn want(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|wanted| name.contains(wanted.as_str()))
    }
}
