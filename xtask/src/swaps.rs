//! `cargo xtask swaps`: the test that swaps policies while messages flow, for longer.

use std::process::Stdio;

use anyhow::ensure;

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
    let test = || {
        let mut cargo = workspace::cargo();
        // Of the whole workspace, as in `cargo xtask test`, whose build then serves this too.
        cargo.args(["test", "--quiet", "--workspace", "--test", "memory", "--", "--exact", TEST]);
        cargo
    };
    // A test program that is given a name which no test has runs none, and calls that a success.
    let listed = workspace::output(test().arg("--list").stderr(Stdio::inherit()))?;
    ensure!(is_listed(&listed), "there is no test {TEST} any more; correct its name in xtask/src/swaps.rs");
    workspace::run(test().arg("--nocapture").env(VARIABLE, args.count.to_string()))
}

fn is_listed(tests: &str) -> bool {
    tests.lines().any(|line| line.strip_suffix(": test") == Some(TEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_test_is_found_by_its_whole_name_only() {
        assert!(is_listed(&format!("{TEST}: test\n")));
        assert!(!is_listed(""));
        assert!(!is_listed(&format!("more::{TEST}: test\n{TEST}_twice: test\n")));
    }
}
