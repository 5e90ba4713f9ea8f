//! One decision, made in several ways, side by side in one run: `cargo xtask bench --comparison`.
//!
//! # Layout
//!
//! * `sample`: the failures that are judged.
//! * `way`: what a way of deciding is, and the list of them; one file each in `way/`.
//! * `agreement`: that all ways say the same, without which nothing is measured.
//! * `rounds`: the measurement, in turns so that noise hits all ways alike.
//! * `report`: the tables, and on what machine.

mod agreement;
mod report;
mod rounds;
mod sample;
mod way;

use std::path::PathBuf;

use clap::Parser;

/// Measures one decision made in several ways; fails where they do not all say the same.
#[derive(Parser)]
struct Cli {
    /// The policy, built for wasm32-unknown-unknown
    #[arg(long, value_name = "FILE")]
    policy: PathBuf,
    /// The plug-in for Extism, built for the same
    #[arg(long, value_name = "FILE")]
    extism_guest: PathBuf,
    /// Only see whether all ways say the same
    #[arg(long)]
    check: bool,
}

fn main() -> anyhow::Result<()> {
    let cli = Cli::parse();
    let samples = sample::all()?;
    let ways = way::all(&cli.policy, &cli.extism_guest)?;
    agreement::check(&ways, &samples)?;
    println!("{} ways say the same of {} failures", ways.len(), samples.len());
    if cli.check {
        return Ok(());
    }
    let machine = report::machine();
    let one = rounds::measure(&ways, &samples, 1)?;
    let two = rounds::measure(&ways, &samples, 2)?;
    report::print(&machine, &ways, &one, &two);
    Ok(())
}
