//! `cargo xtask swaps`: the test that swaps policies while messages flow, for longer.

use crate::workspace;

/// Of `tests/tests/memory/swaps.rs`.
const VARIABLE: &str = "REPRIEVE_TEST_SWAPS";
const TEST: &str = "swaps::policies_are_swapped_again_and_again_and_no_message_is_lost_and_no_memory";
/// The first hundred only warm the process up.
const FEWEST: u64 = 101;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// How many policies, each a file of its own; the tests themselves swap 500
    #[arg(long, value_name = "NUMBER", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(FEWEST..))]
    count: u64,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let mut cargo = workspace::cargo();
    // Of the whole workspace, as in `cargo xtask test`, whose build then serves this too.
    cargo.args(["test", "--quiet", "--workspace", "--test", "memory", "--", "--exact", TEST, "--nocapture"]);
    cargo.env(VARIABLE, args.count.to_string());
    workspace::run(&mut cargo)
}
