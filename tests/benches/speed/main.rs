//! How fast, how large: `cargo xtask bench`, or `cargo bench -p reprieve-tests` with `REPRIEVE_TEST_RABBITMQ`
//! and `REPRIEVE_TEST_KAFKA` set.
//!
//! Every figure stands beside what it is held against, from the same run. Measurements, not tests: nothing here fails
//! because a machine is slow.

mod backtest;
mod decisions;
mod fixture;
mod program;
mod queue;
mod rejected_swaps;
mod sleepers;
mod table;

use table::Table;

fn main() -> anyhow::Result<()> {
    // Cargo passes `--bench`; anything else narrows the run down.
    let wanted: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|wanted| name.contains(wanted.as_str()));

    let mut table = Table::new();
    if is_wanted("decisions") {
        decisions::measure(&mut table)?;
    }
    if is_wanted("rejected-swaps") {
        rejected_swaps::measure(&mut table)?;
    }
    if is_wanted("program") {
        program::measure(&mut table)?;
    }
    if is_wanted("backtest") {
        backtest::measure(&mut table)?;
    }
    if is_wanted("journal") {
        queue::journal::measure(&mut table)?;
    }
    if is_wanted("queue-rabbitmq") {
        queue::rabbitmq::measure(&mut table)?;
    }
    if is_wanted("queue-kafka") {
        queue::kafka::measure(&mut table)?;
    }
    if is_wanted("sleepers") {
        sleepers::measure(&mut table)?;
    }
    table.print();
    Ok(())
}
