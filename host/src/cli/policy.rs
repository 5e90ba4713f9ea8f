//! `reprieve policy …`: writing policies, one file a command.

mod backtest;
mod bench;
mod build;
mod check;
mod failure_argument;
mod history;
mod inspect;
mod judged;
mod new;
mod run;
mod steer;
mod test;
mod timeline;
mod usage;
pub(in crate::cli) mod words;

use std::process::ExitCode;

use clap::{Args, Subcommand};

/// Write, build, try and understand policies
///
/// A policy is a WebAssembly file that says what happens to a message whose processing failed. These commands judge with
/// the same code as `run` does.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES, disable_help_subcommand = true)]
pub struct PolicyArguments {
    #[command(subcommand)]
    command: PolicyCommand,
}

const EXAMPLES: &str = "\
From nothing to a policy that judges:
  reprieve policy new my-policy               a crate that builds
  cd my-policy && cargo test                  its own tests, without WebAssembly
  reprieve policy build                       to my-policy.wasm
  reprieve policy check my-policy.wasm        everything that a host checks
  reprieve policy test my-policy.wasm --cases cases
  reprieve policy timeline my-policy.wasm --error timeout";

#[derive(Debug, Clone, Subcommand)]
enum PolicyCommand {
    New(new::NewArguments),
    Build(build::BuildArguments),
    Check(check::CheckArguments),
    Test(test::TestArguments),
    Run(run::RunArguments),
    Timeline(timeline::TimelineArguments),
    Bench(bench::BenchArguments),
    Inspect(inspect::InspectArguments),
    Backtest(backtest::BacktestArguments),
    History(history::HistoryArguments),
    /// Let a running host's candidate go live now
    Promote(steer::SteerArguments),
    /// Keep a running host's candidate from being promoted or rolled back by itself
    Hold(steer::SteerArguments),
    /// Let a candidate that was held be promoted or rolled back by itself again
    Resume(steer::SteerArguments),
    /// Take a running host's candidate back, or else its live policy
    Rollback(steer::SteerArguments),
}

/// Does what the arguments say.
///
/// # Errors
/// Those of the command.
pub fn policy(arguments: &PolicyArguments) -> anyhow::Result<ExitCode> {
    match &arguments.command {
        PolicyCommand::New(arguments) => new::new(arguments),
        PolicyCommand::Build(arguments) => build::build(arguments),
        PolicyCommand::Check(arguments) => check::check(arguments),
        PolicyCommand::Test(arguments) => test::test(arguments),
        PolicyCommand::Run(arguments) => run::run(arguments),
        PolicyCommand::Timeline(arguments) => timeline::timeline(arguments),
        PolicyCommand::Bench(arguments) => bench::bench(arguments),
        PolicyCommand::Inspect(arguments) => inspect::inspect(arguments),
        PolicyCommand::Backtest(arguments) => backtest::run(arguments),
        PolicyCommand::History(arguments) => history::history(arguments),
        PolicyCommand::Promote(arguments) => steer::steer(arguments, "promote"),
        PolicyCommand::Hold(arguments) => steer::steer(arguments, "hold"),
        PolicyCommand::Resume(arguments) => steer::steer(arguments, "resume"),
        PolicyCommand::Rollback(arguments) => steer::steer(arguments, "rollback"),
    }
}
