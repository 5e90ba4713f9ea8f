//! `reprieve policy test`

mod inputs;
mod json;
mod junit;
mod report;
mod text;
mod watch;

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;

use super::judged::PolicyArgument;
use crate::cli::style::Style;
use crate::cli::{FAILED, WRONG};
use crate::policy::engine::{Engine, EngineLimits};
use inputs::Inputs;
use report::Report;
use text::Text;

/// Try a policy on cases: failures, and the verdicts that they should get
///
/// Without --cases these are the cases that the file carries; where it carries none, those of the folder `cases` beside
/// the file, or of the one in the current folder. Each case says what matters of a failure and of its verdict, and is judged
/// with the settings and on the route that it gives, within a host's limits.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct TestArguments {
    #[command(flatten)]
    policy: PolicyArgument,

    /// A file of cases, or a folder with such files (*.toml, *.json); may be given many times
    #[arg(long, value_name = "PATH")]
    cases: Vec<PathBuf>,

    /// Only the cases with this text in their names
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,

    /// Also write the results into a file, as JUnit XML
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,

    /// Print the results as one JSON object
    #[arg(long, conflicts_with = "watch")]
    json: bool,

    /// Stay, and test again whenever the policy or the cases change; Ctrl-C ends it
    #[arg(short, long)]
    watch: bool,
}

const EXAMPLES: &str = "\
A file of cases:
  [[case]]
  name = \"a time-out is retried\"
  failure = { attempt = 1, error = { kind = \"timeout\" } }
  expect = { action = \"retry\", delay = \"1s..2s\" }

Examples:
  reprieve policy test orders.wasm                        its own cases, or those of cases
  reprieve policy test orders.wasm --cases cases --watch  again after every change
  reprieve policy test orders.wasm --only time-out        the cases that are about time-outs
  reprieve policy test orders.wasm --junit results.xml    for a build server

Exit codes:
  0  every case passed; with --watch, the last time
  1  a case failed
  2  there are no cases, or the policy, the cases or the arguments are wrong";

/// Tests once, or until told to stop. What is wrong goes to standard error.
///
/// # Errors
/// None: whatever keeps the cases from being judged has an exit code of its own.
pub(super) fn test(arguments: &TestArguments) -> anyhow::Result<ExitCode> {
    let ended = if arguments.watch { watch::watch(arguments) } else { once(arguments) };
    let code = ended.unwrap_or_else(|error| {
        eprintln!("error: {}", text::error(&error));
        WRONG
    });
    Ok(ExitCode::from(code))
}

fn once(arguments: &TestArguments) -> anyhow::Result<u8> {
    let report = Inputs::read(arguments)?.judge(&engine()?, arguments.only.as_deref())?;
    let out = &mut io::stdout().lock();
    if arguments.json {
        writeln!(out, "{:#}", json::json(&report))?;
    } else {
        write!(out, "{}", Text { report: &report, style: Style::for_stdout() })?;
    }
    out.flush()?;
    record(arguments, &report)?;
    Ok(code(&report))
}

fn engine() -> anyhow::Result<Engine> {
    Engine::new(EngineLimits::default()).context("cannot start the policy engine")
}

/// Writes the file for build servers, where one is wanted.
fn record(arguments: &TestArguments, report: &Report) -> anyhow::Result<()> {
    let Some(path) = &arguments.junit else { return Ok(()) };
    fs::write(path, junit::Junit(report).to_string())
        .with_context(|| format!("cannot write the results to {}", path.display()))
}

fn code(report: &Report) -> u8 {
    if report.failed() == 0 { 0 } else { FAILED }
}

#[cfg(test)]
mod tests;
