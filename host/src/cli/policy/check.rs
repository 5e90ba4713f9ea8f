//! `reprieve policy check`

mod examine;
mod steps;
mod view;

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;

use super::judged::JudgedArguments;
use crate::cli::WRONG;
use crate::cli::style::Style;
use crate::policy::engine::Engine;
use examine::examine;
use view::View;

/// Check a policy as a host does before it swaps, and for hidden state
///
/// Goes through the same steps with the same code: the file, its interface, its own cases, its settings, and decisions on
/// made-up failures. Then one instance judges many failures in several orders, which shows a policy that keeps something
/// between decisions. Each step is a line; the first that is wrong comes with its cure.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct CheckArguments {
    #[command(flatten)]
    judged: JudgedArguments,

    /// Print the steps as JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  reprieve policy check my-policy.wasm
  reprieve policy check my-policy.wasm --settings settings.toml
  reprieve policy check my-policy.wasm -c reprieve.toml --route orders
  reprieve policy check my-policy.wasm && cp my-policy.wasm policies/.new && mv policies/.new policies/my-policy.wasm

Exit codes:
  0  right, perhaps with warnings
  1  the check itself failed
  2  wrong, or the arguments or the configuration are";

/// Checks. The steps go to standard output, problems to standard error.
///
/// # Errors
/// What the check needs cannot be had.
pub(super) fn check(arguments: &CheckArguments) -> anyhow::Result<ExitCode> {
    let judged = arguments.judged.read()?;
    let engine = Engine::new(judged.limits.clone()).context("cannot start the policy engine")?;
    let report = examine(&judged, &engine);
    let mut out = std::io::stdout().lock();
    if arguments.json {
        let json = serde_json::to_string_pretty(&report).context("cannot write the report as JSON")?;
        writeln!(out, "{json}")?;
    } else {
        write!(out, "{}", View { report: &report, style: Style::for_stdout() })?;
        out.flush()?;
        for trouble in &report.troubles {
            eprintln!("\n{trouble}");
        }
    }
    Ok(if report.right { ExitCode::SUCCESS } else { ExitCode::from(WRONG) })
}

#[cfg(test)]
mod tests;
