//! The program's commands: one file each, with its arguments and its help.

pub mod check;
pub mod dead_letters;
pub mod demo;
pub mod journal;
pub mod policy;
pub mod run;
mod running_host;
pub mod send;
pub mod status;
mod style;
pub mod why;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use crate::config::ConfigError;

/// Something went wrong while running.
const FAILED: u8 = 1;
/// The arguments or the configuration are wrong. The same number as for arguments that cannot be read.
const WRONG: u8 = 2;

/// What happens to a message whose processing failed: retry, delay, dead-letter, requeue or drop.
///
/// Reprieve takes messages from a broker, calls a handler, and on each failure asks a policy for the verdict.
/// Policies are WebAssembly files; dropping a new one into the policies folder swaps it while messages flow.
#[derive(Debug, Parser)]
#[command(name = "reprieve", version, after_help = EXIT_CODES, disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  something failed while running
  2  the arguments or the configuration are wrong";

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::RunArguments),
    Check(check::CheckArguments),
    Status(status::StatusArguments),
    Policy(policy::PolicyArguments),
    Demo(demo::DemoArguments),
    Send(send::SendArguments),
    DeadLetters(dead_letters::DeadLettersArguments),
    Journal(journal::JournalArguments),
    Why(why::WhyArguments),
}

/// Where the configuration is.
#[derive(Debug, Clone, Args)]
pub struct ConfigArgument {
    /// The configuration file
    #[arg(short, long = "config", value_name = "FILE", default_value = "reprieve.toml")]
    pub config: PathBuf,
}

/// Reads the process's arguments and does what they say.
#[must_use]
pub fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Run(arguments) => run::run(&arguments),
        Command::Check(arguments) => check::check(&arguments),
        Command::Status(arguments) => status::status(&arguments),
        Command::Policy(arguments) => policy::policy(&arguments),
        Command::Demo(arguments) => demo::demo(&arguments),
        Command::Send(arguments) => send::send(&arguments),
        Command::DeadLetters(arguments) => dead_letters::dead_letters(&arguments),
        Command::Journal(arguments) => journal::journal(&arguments),
        Command::Why(arguments) => why::why(&arguments),
    };
    result.unwrap_or_else(|error| match error.downcast_ref::<ConfigError>() {
        // It shows each problem with its place, and needs no further word.
        Some(wrong) => {
            eprintln!("{wrong}");
            ExitCode::from(WRONG)
        }
        None => {
            eprintln!("error: {error:#}");
            ExitCode::from(FAILED)
        }
    })
}

#[cfg(test)]
mod tests;
