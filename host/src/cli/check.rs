//! `reprieve check`

mod summary;

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;

use super::{ConfigArgument, WRONG};
use crate::config::{Config, Report};

/// Say whether a configuration is right, and what would run
///
/// Reads the configuration, looks for the policies that it names, and connects to nothing. Prints the routes where
/// everything is right, and else each problem with its line and what to do about it.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub struct CheckArguments {
    /// Which configuration.
    #[command(flatten)]
    pub config: ConfigArgument,
}

const EXAMPLES: &str = "\
Examples:
  reprieve check                        the file reprieve.toml of this folder
  reprieve check -c /etc/reprieve.toml  another one
  reprieve check && reprieve run        start only what is right

Exit codes:
  0  right, perhaps with warnings
  1  the report could not be written
  2  wrong";

/// Checks a configuration. The summary goes to standard output, problems to standard error.
///
/// # Errors
/// Where the report cannot be written.
pub fn check(arguments: &CheckArguments) -> anyhow::Result<ExitCode> {
    let right =
        report(arguments, &mut io::stdout().lock(), &mut io::stderr().lock()).context("cannot write the report")?;
    Ok(if right { ExitCode::SUCCESS } else { ExitCode::from(WRONG) })
}

/// Whether the configuration is right.
fn report(arguments: &CheckArguments, out: &mut impl Write, err: &mut impl Write) -> io::Result<bool> {
    let path = &arguments.config.config;
    let config = match Config::load(path) {
        Ok(config) => config,
        Err(error) => {
            writeln!(err, "{error}")?;
            return Ok(false);
        }
    };
    let missing = config.missing_policies();
    let right = missing.is_empty();
    let problems: Vec<_> = config.warnings.iter().chain(&missing).cloned().collect();
    if !problems.is_empty() {
        writeln!(err, "{}", Report(&problems))?;
    }
    if right {
        write!(out, "{}", summary::Summary { path, config: &config })?;
    }
    Ok(right)
}

#[cfg(test)]
mod tests;
