//! `reprieve policy backtest`

mod source;
mod view;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;

use anyhow::Context as _;
use clap::Args;
use serde_json::json;

use super::judged::{JudgedArguments, PolicyArgument};
use crate::cli::FAILED;
use crate::cli::style::Style;
use crate::config::{Config, ConfigError};
use crate::journal::backtest::{Against, Limit, Question, backtest};
use crate::policy::embedded::STANDARD_NAME;
use crate::policy::engine::{Engine, Revision};
use source::SourceArguments;
use view::View;

/// Judge recorded failures with a policy, and show what would change
///
/// Reads the failures that a host recorded in its journal, has the policy judge each of them with the clock and the random bits
/// of then, and compares the verdicts with those that were given, or with another policy's. Nothing is connected to, and no message
/// is touched. Failures of which the policy reads what was not kept are named first, and left out.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct BacktestArguments {
    #[command(flatten)]
    judged: JudgedArguments,

    #[command(flatten)]
    source: SourceArguments,

    /// What to compare with: `recorded`, the verdicts that were given; `live`, the policy that the route names; or a .wasm file
    #[arg(long, value_name = "WHAT", default_value = "recorded")]
    against: String,

    /// Judge failures of which the policy reads what was not kept all the same; their verdicts may differ for that alone
    #[arg(long)]
    allow_gaps: bool,

    /// Exit with 1 where the report goes beyond this: growth (`dead-letter:+5%`, `drop:+0`), a share of what was judged
    /// (`changed:10%`) or a number (`faults:0`); of changed, faults, unknown, gaps, or an action. May be given many times
    #[arg(long, value_name = "NAME:LIMIT")]
    fail_if: Vec<Limit>,

    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  reprieve policy backtest policies/new.wasm -c reprieve.toml --since 7d
  reprieve policy backtest policies/new.wasm -c reprieve.toml --route orders --against live
  reprieve policy backtest new.wasm -c reprieve.toml --journal a/state --journal b/state
  reprieve policy backtest new.wasm --against old.wasm --failures failures.jsonl

In a build, where a policy must not dead-letter more than 5 % more than what was recorded, nor fail:
  reprieve policy backtest new.wasm -c reprieve.toml --fail-if dead-letter:+5% --fail-if faults:0

Exit codes:
  0  judged, and within the limits
  1  beyond a limit, or the command failed
  2  the arguments, the configuration or the settings are wrong, a host would not load the policy, or there is nothing to judge";

pub(super) fn run(arguments: &BacktestArguments) -> anyhow::Result<ExitCode> {
    let judged = arguments.judged.read()?;
    let engine = Engine::new(judged.limits.clone()).context("cannot start the policy engine")?;
    let candidate = Arc::new(judged.load_or_explain(&engine)?);
    let against = match arguments.against.as_str() {
        "recorded" => Against::Recorded,
        other => Against::Policy(Arc::new(other_policy(&arguments.judged, other, &engine)?)),
    };
    let compared = match &against {
        Against::Recorded => "what was recorded".to_owned(),
        Against::Policy(revision) => revision.maker().to_string(),
    };
    let needs_record = matches!(against, Against::Recorded);
    let route = judged.hosted.as_ref().map(|hosted| hosted.route.name.to_string());
    let source = arguments.source.open(arguments.judged.config.as_deref(), route, needs_record)?;
    let question = Arc::new(Question { candidate, against, allow_gaps: arguments.allow_gaps });
    let threads = thread::available_parallelism().map_or(1, Into::into);
    let report = backtest(&question, threads, |each| source.feed(each))?;
    if report.failures == 0 {
        return Err(ConfigError::Unusable(format!(
            "there is no failure to judge in {}\n = help: look with `reprieve journal query`, or widen --since, --until and --error-kind",
            source.describe()
        ))
        .into());
    }
    let violations: Vec<_> = arguments.fail_if.iter().filter_map(|limit| limit.violation(&report)).collect();
    let maker = question.candidate.maker().to_string();
    let mut out = std::io::stdout().lock();
    if arguments.json {
        let report = json!({ "policy": maker, "against": compared, "report": report, "violations": violations });
        writeln!(out, "{report:#}")?;
    } else {
        let (source, style) = (source.describe(), Style::for_stdout());
        write!(out, "{}", View { maker, compared, source, report: &report, violations: &violations, style })?;
    }
    Ok(if violations.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(FAILED) })
}

/// Another policy, on the same route with the route's own settings.
fn other_policy(judged: &JudgedArguments, what: &str, engine: &Engine) -> anyhow::Result<Revision> {
    let file = match what {
        "live" => live(judged)?,
        file => PathBuf::from(file),
    };
    let other = JudgedArguments { policy: PolicyArgument { file }, settings: None, ..judged.clone() };
    // Which route is meant goes by the policy that is tried.
    let route = match (&judged.config, &judged.route) {
        (Some(_), None) => judged.read()?.hosted.map(|hosted| hosted.route.name.to_string()),
        _ => judged.route.clone(),
    };
    Ok(JudgedArguments { route, ..other }.read()?.load_or_explain(engine)?)
}

/// The file that the route names.
fn live(judged: &JudgedArguments) -> anyhow::Result<PathBuf> {
    let Some(path) = &judged.config else {
        let text = "which policy is live says a configuration\n = help: name one with -c, or a file with --against";
        return Err(ConfigError::Unusable(text.to_owned()).into());
    };
    let config = Config::load(path)?;
    let named = judged.read()?.hosted.and_then(|hosted| hosted.policy);
    Ok(match (named, config.policies.folder) {
        (Some(name), Some(folder)) => folder.join(format!("{name}.wasm")),
        (Some(name), None) => PathBuf::from(format!("{name}.wasm")),
        (None, _) => PathBuf::from(STANDARD_NAME),
    })
}
