//! `reprieve policy backtest`

mod interrupt;
mod source;
#[cfg(test)]
mod tests;
mod view;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;

use anyhow::Context as _;
use clap::Args;
use serde::Serialize;
use serde_json::json;

use super::judged::{Judged, JudgedArguments, PolicyArgument};
use crate::cli::FAILED;
use crate::cli::style::Style;
use crate::config::{Config, ConfigError};
use crate::journal::backtest::{Against, Coverage, Judges, Limit, Question, backtest, coverage};
use crate::policy::embedded::STANDARD_NAME;
use crate::policy::engine::{Engine, Revision};
use source::SourceArguments;
use view::View;

/// Judge recorded failures with a policy, and show what would change
///
/// Reads the failures that a host recorded in its journal, has the policy judge each of them with the clock and the random bits
/// of then, and compares the verdicts with those that were given, or with another policy's. Nothing is connected to, and no message
/// is touched. Failures of which the policy reads what was not kept are named first, and left out.
///
/// Where several routes of the configuration name the policy, the failures of each are judged as on that route.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct BacktestArguments {
    #[command(flatten)]
    judged: JudgedArguments,

    #[command(flatten)]
    source: SourceArguments,

    /// What to compare with: `recorded`, the verdicts that were given; `live`, the policy that the route names; or a .wasm file
    #[arg(long, value_name = "WHAT", default_value = RECORDED)]
    against: String,

    /// Judge failures of which the policy reads what was not kept all the same; their verdicts may differ for that alone
    #[arg(long)]
    allow_gaps: bool,

    /// Exit with 1 where the report goes beyond this: growth (`dead-letter:+5%`, `drop:+0`), a share of what was judged
    /// (`changed:10%`) or a number (`faults:0`); of changed, faults, unknown, gaps, or an outcome. May be given many times
    #[arg(long, value_name = "NAME:LIMIT")]
    fail_if: Vec<Limit>,

    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

const RECORDED: &str = "recorded";

const EXAMPLES: &str = "\
Examples:
  reprieve policy backtest policies/new.wasm -c reprieve.toml --since 7d
  reprieve policy backtest policies/new.wasm -c reprieve.toml --route orders --against live
  reprieve policy backtest new.wasm -c reprieve.toml --journal a/state --journal b/state
  reprieve policy backtest new.wasm --against old.wasm --failures failures.jsonl
  reprieve dead-letters peek -n 1000 --json | reprieve policy backtest new.wasm --against old.wasm --failures -

In a build, where a policy must not dead-letter more than 5 % more than what was recorded, nor fail:
  reprieve policy backtest new.wasm -c reprieve.toml --fail-if dead-letter:+5% --fail-if faults:0

Exit codes:
  0  judged, and within the limits
  1  beyond a limit, interrupted, or the command failed
  2  the arguments, the configuration or the settings are wrong, a host would not load the policy, or there is nothing that can
     be judged";

/// Who judges a route's failures, for the report.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Judging {
    /// Absent where no configuration names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    route: Option<String>,
    policy: String,
    against: String,
}

pub(super) fn run(arguments: &BacktestArguments) -> anyhow::Result<ExitCode> {
    let judged = arguments.judged.read_each()?;
    let limits = judged.first().map(|judged| judged.limits.clone()).unwrap_or_default();
    let engine = Engine::new(limits).context("cannot start the policy engine")?;
    let routes: Vec<_> = judged.iter().filter_map(route_of).collect();
    let needs_record = arguments.against == RECORDED;
    let source = arguments.source.open(arguments.judged.config.as_deref(), &routes, needs_record)?;
    let follows = source.has_whole_messages();
    if let Some(limit) = arguments.fail_if.iter().find(|limit| limit.follows() && !follows) {
        let text = format!(
            "{limit} is about whole messages\n = help: leave out --error-kind, which takes failures out of them"
        );
        return Err(ConfigError::Unusable(text).into());
    }
    let (question, judging) = arguments.question(judged, &engine, follows)?;

    let interrupted = interrupt::watch().context("cannot wait for Ctrl-C")?;
    let threads = thread::available_parallelism().map_or(1, Into::into);
    let goes_on = || !interrupted.load(Ordering::Relaxed);
    let covered = coverage(&question, threads, goes_on, |each| source.feed("looked at", None, each))?;
    let is_looked_through = goes_on();
    if is_looked_through {
        arguments.check(&covered, &source.describe())?;
    }
    let total = Some(covered.failures);
    let report = backtest(&question, threads, goes_on, |each| source.feed("judged", total, each))?;
    let is_partial = !is_looked_through || report.failures < covered.failures;

    let violations: Vec<_> = arguments.fail_if.iter().filter_map(|limit| limit.violation(&report)).collect();
    let mut out = std::io::stdout().lock();
    if arguments.json {
        let report = json!({
            "judging": judging,
            "source": source.files(),
            "partial": is_partial,
            "report": report,
            "violations": violations,
        });
        writeln!(out, "{report:#}")?;
    } else {
        let (source, journals, style) = (source.describe(), source.files(), Style::for_stdout());
        let (report, violations) = (&report, &violations[..]);
        let body =
            question.routes.values().chain(&question.elsewhere).filter_map(|judges| judges.candidate.needs().body);
        let body = body.max();
        write!(out, "{}", View { judging, source, journals, report, body, is_partial, violations, style })?;
    }
    Ok(if violations.is_empty() && !is_partial { ExitCode::SUCCESS } else { ExitCode::from(FAILED) })
}

impl BacktestArguments {
    fn question(
        &self,
        judged: Vec<Judged>,
        engine: &Engine,
        follows: bool,
    ) -> anyhow::Result<(Question, Vec<Judging>)> {
        let mut question = Question { routes: BTreeMap::new(), elsewhere: None, allow_gaps: self.allow_gaps, follows };
        let mut judging = Vec::new();
        for judged in judged {
            let route = route_of(&judged);
            let candidate = Arc::new(judged.load_or_explain(engine)?);
            let against = match self.against.as_str() {
                RECORDED => Against::Recorded,
                other => Against::Policy(Arc::new(self.other_policy(other, &judged, engine)?)),
            };
            judging.push(Judging {
                route: route.clone(),
                policy: candidate.maker().to_string(),
                against: match &against {
                    Against::Recorded => RECORDED.to_owned(),
                    Against::Policy(revision) => revision.maker().to_string(),
                },
            });
            let judges = Judges { candidate, against, rules: judged.rules(), has_handler: judged.has_handler() };
            match route {
                Some(route) => drop(question.routes.insert(route, judges)),
                None => question.elsewhere = Some(judges),
            }
        }
        Ok((question, judging))
    }

    /// Another policy, on the same route with the route's own settings.
    fn other_policy(&self, what: &str, judged: &Judged, engine: &Engine) -> anyhow::Result<Revision> {
        let file = match what {
            "live" => self.live(judged)?,
            file => PathBuf::from(file),
        };
        let (policy, route) = (PolicyArgument { file }, route_of(judged));
        let other = JudgedArguments { policy, settings: None, route, ..self.judged.clone() };
        Ok(other.read()?.load_or_explain(engine)?)
    }

    /// The file that the route names.
    fn live(&self, judged: &Judged) -> anyhow::Result<PathBuf> {
        let (Some(path), Some(hosted)) = (&self.judged.config, &judged.hosted) else {
            let text = "which policy is live says a configuration\n = help: name one with -c, or a file with --against";
            return Err(ConfigError::Unusable(text.to_owned()).into());
        };
        let folder = Config::load(path)?.policies.folder;
        Ok(match (&hosted.policy, folder) {
            (Some(name), Some(folder)) => folder.join(format!("{name}.wasm")),
            (Some(name), None) => PathBuf::from(format!("{name}.wasm")),
            (None, _) => PathBuf::from(STANDARD_NAME),
        })
    }

    /// Before anything is judged: is there anything that can be?
    fn check(&self, covered: &Coverage, source: &str) -> Result<(), ConfigError> {
        let Coverage { failures, incomplete, gaps } = covered;
        if *failures == 0 {
            return Err(ConfigError::Unusable(format!(
                "there is no failure to judge in {source}\n = help: look with `reprieve journal query`, or widen --since, --until, \
                 --error-kind and --route"
            )));
        }
        if incomplete == failures && !self.allow_gaps {
            let gaps: Vec<_> = gaps.iter().map(|(gap, count)| format!(" = {gap}, in {count} failures\n")).collect();
            return Err(ConfigError::Unusable(format!(
                "none of the {failures} failures in {source} can be judged exactly: the policy reads what was not kept\n{} = help: keep \
                 it from now on, by [journal] of the host's configuration, or judge all the same with --allow-gaps",
                gaps.concat()
            )));
        }
        if *incomplete > 0 {
            let done = if self.allow_gaps { "they are judged all the same" } else { "they are left out" };
            eprintln!("{incomplete} of {failures} failures lack what the policy reads; {done}");
        }
        Ok(())
    }
}

fn route_of(judged: &Judged) -> Option<String> {
    judged.hosted.as_ref().map(|hosted| hosted.route.name.to_string())
}
