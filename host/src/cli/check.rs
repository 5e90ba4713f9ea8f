//! `reprieve check`

mod connect;
mod policies;
mod summary;

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;

use super::{ConfigArgument, FAILED, WRONG};
use crate::config::{Config, Report};
use crate::host::HostSpec;

const UNWRITTEN: &str = "cannot write the report";

/// Say whether a configuration is right, and what would run
///
/// Reads the configuration and tries each route's policy with its settings, as `run` does before it starts. Prints the
/// routes where everything is right, and else each problem with its line and what to do about it. Connects to nothing
/// and changes nothing, unless asked to with --connect.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub struct CheckArguments {
    /// Which configuration.
    #[command(flatten)]
    pub config: ConfigArgument,

    /// Also connect to each route's broker and see whether the route could take messages; tiers and dead-letter queues
    /// that are missing are declared, as `run` would
    #[arg(long)]
    pub connect: bool,
}

const EXAMPLES: &str = "\
Examples:
  reprieve check                        the file reprieve.toml of this folder
  reprieve check -c /etc/reprieve.toml  another one
  reprieve check --connect              and ask the brokers
  reprieve check && reprieve run        start only what is right

Exit codes:
  0  right, perhaps with warnings
  1  right, but a broker cannot serve a route now; or the check itself failed
  2  wrong";

/// Checks a configuration. The summary goes to standard output, problems to standard error.
///
/// # Errors
/// The report cannot be written, or what the check needs of the system cannot be had.
pub fn check(arguments: &CheckArguments) -> anyhow::Result<ExitCode> {
    let code = match report(arguments, &mut io::stdout().lock(), &mut io::stderr().lock())? {
        Finding::Right => return Ok(ExitCode::SUCCESS),
        Finding::Unserved => FAILED,
        Finding::Wrong => WRONG,
    };
    Ok(ExitCode::from(code))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Finding {
    Right,
    /// Right, but a broker cannot serve a route now.
    Unserved,
    Wrong,
}

fn report(arguments: &CheckArguments, out: &mut impl Write, err: &mut impl Write) -> anyhow::Result<Finding> {
    let path = &arguments.config.config;
    let understood = Config::load(path).and_then(|mut config| {
        let spec = HostSpec::from_config(&mut config)?;
        Ok((config, spec))
    });
    let (config, spec) = match understood {
        Ok(understood) => understood,
        Err(error) => {
            writeln!(err, "{error}").context(UNWRITTEN)?;
            return Ok(Finding::Wrong);
        }
    };
    let mut errors = config.missing_policies();
    errors.extend(policies::problems(&config, &spec)?);
    errors.sort_by_key(|problem| (problem.line(), problem.column()));
    let problems: Vec<_> = config.warnings.iter().chain(&errors).cloned().collect();
    if !problems.is_empty() {
        writeln!(err, "{}", Report(&problems)).context(UNWRITTEN)?;
    }
    if !errors.is_empty() {
        return Ok(Finding::Wrong);
    }
    write!(out, "{}", summary::Summary { path, config: &config }).context(UNWRITTEN)?;
    if !arguments.connect {
        return Ok(Finding::Right);
    }
    let answers = connect::connect(&spec)?;
    out.write_all(answers.text.as_bytes()).context(UNWRITTEN)?;
    Ok(if answers.all_fit { Finding::Right } else { Finding::Unserved })
}

#[cfg(test)]
mod tests;
