//! `reprieve policy run`

mod view;

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use serde_json::json;

use super::failure_argument::{FailureArguments, Given};
use super::judged::{Judged, JudgedArguments};
use crate::cli::FAILED;
use crate::cli::style::Style;
use crate::config::ConfigError;
use crate::delivery::{Preview, Situation, preview};
use crate::policy::engine::{Engine, Measured, Revision};
use crate::policy::usage::Usage;
use view::View;

/// How often the failure is judged for its time, which is the median.
const RUNS: usize = 5;

/// Have a policy judge one failure, and explain the verdict
///
/// Shows what the policy says and what a host would do with it on the route, what the decision cost, and how near it came to
/// the limits that hold in production. Nothing is connected to, and no message is touched.
///
/// Where nothing says what failed, the failure is read from standard input.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct RunArguments {
    #[command(flatten)]
    judged: JudgedArguments,

    #[command(flatten)]
    failure: FailureArguments,

    /// Print all of it as JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  reprieve policy run standard --error timeout --attempt 3
  reprieve policy run my-policy.wasm --failure failure.json
  echo '{\"error\": {\"kind\": \"http-429\", \"retry_after\": \"90s\"}, \"age\": \"25h\"}' | reprieve policy run my-policy.wasm
  reprieve policy run my-policy.wasm -c reprieve.toml --route orders --error http-503

With a dead letter, its attempt changed:
  rabbitmqadmin --format raw_json get queue=orders.dlq | reprieve policy run my-policy.wasm -f - --attempt 1
  curl -s 'http://127.0.0.1:7878/topics/orders.dlq?limit=1' | reprieve policy run my-policy.wasm

Exit codes:
  0  the policy gave a verdict
  1  it gave none, or the command failed
  2  the arguments, the configuration, the settings or the failure are wrong, or a host would not load the policy";

const NO_FAILURE: &str = "there is no failure to judge
 = help: describe one with --error timeout --attempt 2, or give one with --failure FILE, such as {\"attempt\": 2, \"error\": \"timeout\"}";

/// All that is to be told.
struct Explained<'a> {
    judged: &'a Judged,
    maker: String,
    given: Given,
    measured: Measured,
    preview: Preview,
    usages: Vec<Usage>,
}

pub(super) fn run(arguments: &RunArguments) -> anyhow::Result<ExitCode> {
    let judged = arguments.judged.read()?;
    let given = arguments.failure.read()?.ok_or_else(|| ConfigError::Unusable(NO_FAILURE.into()))?;
    let engine = Engine::new(judged.limits.clone()).context("cannot start the policy engine")?;
    let revision = judged.load_or_explain(&engine)?;
    let metered = Engine::metered(judged.limits.clone()).context("cannot start the policy engine")?;
    let counted = judged.load_or_explain(&metered)?.measure(&given.failure).instructions;
    let measured = Measured { instructions: counted, ..measure(&revision, &given) };
    let explained = Explained::new(&judged, revision.maker().to_string(), given, measured);
    let mut out = std::io::stdout().lock();
    if arguments.json {
        writeln!(out, "{:#}", explained.json())?;
    } else {
        write!(out, "{}", View { explained: &explained, style: Style::for_stdout() })?;
    }
    Ok(if explained.measured.result.is_ok() { ExitCode::SUCCESS } else { ExitCode::from(FAILED) })
}

/// The decision, with the median of several times.
fn measure(revision: &Revision, given: &Given) -> Measured {
    let mut times = Vec::with_capacity(RUNS);
    let mut measured = revision.measure(&given.failure);
    times.push(measured.elapsed);
    for _ in 1..RUNS {
        measured = revision.measure(&given.failure);
        times.push(measured.elapsed);
    }
    times.sort_unstable();
    Measured { elapsed: times.get(RUNS / 2).copied().unwrap_or(Duration::ZERO), ..measured }
}

impl<'a> Explained<'a> {
    fn new(judged: &'a Judged, maker: String, given: Given, measured: Measured) -> Self {
        let situation = Situation { has_handler: judged.has_handler(), ..Situation::just_arrived(&given.failure) };
        let preview = preview(&given.failure, &measured.result, situation, &judged.rules());
        let usages = Usage::of(&measured, &judged.limits);
        Self { judged, maker, given, measured, preview, usages }
    }

    fn json(&self) -> serde_json::Value {
        let Self { judged, maker, given, measured, preview, usages } = self;
        json!({
            "policy": maker,
            "route": judged.route.name,
            "failure": given.failure,
            "then": given.then,
            "verdict": measured.result.as_ref().ok(),
            "fault": measured.result.as_ref().err(),
            "fallback": measured.result.is_err().then_some(&preview.verdict),
            "outcome": preview.outcome,
            "overridden": preview.overridden,
            "log": measured.log,
            "instructions": measured.instructions,
            "usage": usages,
        })
    }
}

#[cfg(test)]
mod tests;
