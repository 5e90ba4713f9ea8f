//! The workspace's chores: `cargo xtask --help`. One file for each.

mod apt;
mod bench;
mod cookbook;
mod deny;
mod frozen;
mod kafka;
mod mutants;
mod narad;
mod policies;
mod python;
mod rabbitmq;
mod source_digest;
mod swaps;
mod system;
mod systemd;
mod test;
mod test_policies;
mod torture;
mod wasm;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(bin_name = "cargo xtask", about = "The workspace's chores", disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Set up what the tests need, and run all of them
    Test(test::Args),
    /// Check licences, sources and duplicates of the dependencies
    Deny(deny::Args),
    /// Set up the wasm32-unknown-unknown target, by rustup or else from Debian's packages
    Wasm,
    /// Build the policies that the host embeds, or all of `plugins/`; or check that the committed ones are up to date
    Policies(policies::Args),
    /// Build the policy that stands for each released version of the interface, where there is none yet
    Frozen(frozen::Args),
    /// Build the policies that tests use, into target/test-policies
    TestPolicies,
    /// Measure speed and memory of a release build, each figure beside its goal
    Bench(bench::Args),
    /// Break the rules of settlement one by one and demand that the tests see it
    Mutants(mutants::Args),
    /// Swap policies thousands of times under load, and demand that no message and no memory is lost
    Swaps(swaps::Args),
    /// Send messages through hosts and a broker that are killed, cut off and refused, and demand that none is lost
    Torture(torture::Args),
    /// Install what building needs beside Rust: make, a C++ compiler, and the headers of OpenSSL and zlib
    System,
    /// Find a RabbitMQ on this machine, or install and start one, and print its URL
    Rabbitmq,
    /// Find a Narad on this machine, or build and start one, and print its URL
    Narad(narad::Args),
    /// Start an Apache Kafka that stays, unless it runs already, and print its address
    Kafka(kafka::Args),
    /// Set up the Python that tests use, with what they need, and print its path
    Python,
}

fn main() -> ExitCode {
    let result = match Cli::parse().chore {
        Chore::Test(args) => test::run(&args),
        Chore::Deny(args) => deny::run(&args),
        Chore::Wasm => wasm::toolchain().map(|toolchain| println!("policies are built with {toolchain}")),
        Chore::Bench(args) => bench::run(&args),
        Chore::Mutants(args) => mutants::run(&args),
        Chore::Swaps(args) => swaps::run(&args),
        Chore::Torture(args) => torture::run(&args),
        Chore::Rabbitmq => rabbitmq::ensure().map(|address| println!("{}", address.url())),
        Chore::Narad(args) => narad::run(&args),
        Chore::System => system::ensure(),
        Chore::Kafka(args) => kafka::run(&args),
        Chore::Python => python::ensure().map(|python| println!("{}", python.display())),
        Chore::Policies(args) => policies::run(&args),
        Chore::Frozen(args) => frozen::run(&args),
        Chore::TestPolicies => test_policies::run(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
