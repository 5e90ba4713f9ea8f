//! An Apache Kafka for the tests: the one that stays, where it runs, or one for this run alone.

mod jars;
mod java;

use std::path::PathBuf;

use anyhow::Result;
use reprieve_kafka_node::{Node, Settings, answers, folder, sweep};

/// Where the one that stays answers; far from the usual ports, so that others can run.
const PORT: u16 = 39092;

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Stop the one that stays
    #[arg(long)]
    stop: bool,
}

const EXAMPLES: &str = "\
Examples:
  export REPRIEVE_TEST_KAFKA=$(cargo xtask kafka)    for `cargo test` by hand
  cargo xtask kafka --stop

`cargo xtask test` uses it where it runs, and otherwise starts one of its own, which ends with the tests.
Its log is target/kafka/stays/output.log.

Exit codes:
  0  it runs, or with --stop it does not
  1  it cannot be installed, started or stopped; the message says what to do by hand";

/// A broker for the tests, for as long as this value lives.
pub(crate) struct Kafka {
    address: String,
    /// Ours to end.
    _node: Option<Node>,
}

impl Kafka {
    /// `127.0.0.1:PORT`.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }
}

/// Finds the broker that stays, or installs and starts one that ends with this process. Says on stderr what it does.
///
/// # Errors
/// Where none runs and none can be installed or started; the text says what to do by hand.
pub(crate) fn ensure() -> Result<Kafka> {
    prepare()?;
    if answers(PORT) {
        let address = format!("127.0.0.1:{PORT}");
        eprintln!("kafka: using the one that answers on {address}");
        return Ok(Kafka { address, _node: None });
    }
    eprintln!("kafka: starting one for this run");
    let node = Node::temporary(Settings::new()?)?;
    let address = node.address();
    eprintln!("kafka: ready on {address}");
    Ok(Kafka { address, _node: Some(node) })
}

/// Starts or stops the one that stays.
pub(crate) fn run(args: &Args) -> Result<()> {
    if args.stop {
        let stopped = Node::stop_what_stayed(&stays())?;
        eprintln!("kafka: {}", if stopped { "stopped" } else { "none of this folder runs" });
        return Ok(());
    }
    prepare()?;
    if !answers(PORT) {
        // One that hangs would be in the way of the next.
        if Node::stop_what_stayed(&stays())? {
            eprintln!("kafka: stopped one that did not answer");
        }
        let folder = stays();
        eprintln!("kafka: starting one on port {PORT}, data in {}", folder.display());
        let settings =
            Settings { folder, port: PORT, controller_port: PORT + 1, proxied: None, properties: Vec::new() };
        let id = Node::start_to_stay(settings)?;
        eprintln!("kafka: ready, process {id}; it stays until `cargo xtask kafka --stop`");
    }
    println!("127.0.0.1:{PORT}");
    Ok(())
}

/// What starting needs, for the tests that start nodes of their own too.
pub(crate) fn prepare() -> Result<()> {
    java::ensure()?;
    jars::ensure()?;
    for folder in sweep()? {
        eprintln!("kafka: removed {}, left over from an earlier run", folder.display());
    }
    Ok(())
}

fn stays() -> PathBuf {
    folder().join("stays")
}
