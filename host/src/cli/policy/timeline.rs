//! `reprieve policy timeline`

mod draw;
mod play;
mod scale;

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use serde::Serialize;
use serde_json::json;

use super::failure_argument;
use super::judged::{Judged, JudgedArguments};
use crate::cli::style::Style;
use crate::delivery::{KnownStarts, Rules};
use crate::failure::Failure;
use crate::handler_error::HandlerError;
use crate::policy::engine::{Engine, Revision};
use crate::timestamp::{Timestamp, millis};
use crate::verdict::Decision;
use draw::Layout;
use play::{Play, Script, play};

/// Draw what becomes of a message that fails again and again
///
/// Plays a failure forward: each attempt fails in the same way, the policy is asked, and what the host would do is done
/// to a made-up message on a made-up clock, by the host's own rules: limits, tiers, expiry and overrides. Only what a broker
/// tells once it is connected to is not known: a requeue is taken to be safe, and nothing to be too large.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct TimelineArguments {
    #[command(flatten)]
    judged: JudgedArguments,

    /// The kind of error that each attempt fails with; several are drawn one below the other, on the same scale
    #[arg(short, long = "error", value_name = "KIND", required_unless_present = "failure")]
    errors: Vec<String>,

    /// The status that comes with the error, such as 503
    #[arg(long, value_name = "NUMBER")]
    status: Option<u16>,

    /// How long the failing side asks to be left alone
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    retry_after: Option<Duration>,

    /// A header of the message; may be given many times
    #[arg(short = 'H', long = "header", value_name = "NAME=VALUE", value_parser = crate::cli::send::parse_header)]
    headers: Vec<(String, String)>,

    /// How old the message is when it first fails
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    age: Option<Duration>,

    /// How long until the message expires
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    expires_in: Option<Duration>,

    /// Start from this failure or dead letter in JSON, as `policy run` takes it: its message, error, age and attempt
    #[arg(short, long, value_name = "FILE")]
    failure: Option<std::path::PathBuf>,

    /// How many attempts to play at most
    #[arg(short = 'n', long, value_name = "NUMBER", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    attempts: u32,

    /// How long each attempt runs before it fails
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "0s")]
    handler_time: Duration,

    /// The random bits that jitter is made from
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    seed: u64,

    /// Print the attempts as JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  reprieve policy timeline standard --error timeout
  reprieve policy timeline my-policy.wasm --error timeout --error validation
  reprieve policy timeline my-policy.wasm -c reprieve.toml --route orders --error http-503 --status 503
  reprieve policy timeline my-policy.wasm --error busy --age 23h --handler-time 2s

Exit codes:
  0  drawn
  1  the command failed
  2  the arguments, the configuration, the settings or the failure are wrong, or a host would not load the policy";

fn duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|_| "write a duration such as 90s, 5m or 24h".to_owned())
}

#[derive(Serialize)]
struct Drawn {
    error: String,
    #[serde(flatten)]
    play: Play,
}

/// Plays and draws.
///
/// # Errors
/// The policy does not load, or the arguments do not fit.
pub(super) fn timeline(arguments: &TimelineArguments) -> anyhow::Result<ExitCode> {
    let judged = arguments.judged.read()?;
    let rules = judged.rules();
    let first = arguments.first_failure(&rules.names.prefix)?;
    let engine = Engine::new(judged.limits.clone()).context("cannot start the policy engine")?;
    let revision = judged.load_or_explain(&engine)?;
    let plays: Vec<_> =
        arguments.failures(&first).map(|failure| arguments.play(&judged, &revision, &rules, failure)).collect();
    let mut out = std::io::stdout().lock();
    if arguments.json {
        let report = json!({ "policy": revision.maker(), "route": judged.route.name, "plays": plays });
        writeln!(out, "{report:#}")?;
        return Ok(ExitCode::SUCCESS);
    }
    let width = terminal_size::terminal_size().map_or(100, |(width, _)| usize::from(width.0));
    for line in picture(&judged, &revision, &plays, width, Style::for_stdout()) {
        writeln!(out, "{line}")?;
    }
    Ok(ExitCode::SUCCESS)
}

fn picture(judged: &Judged, revision: &Revision, plays: &[Drawn], width: usize, style: Style) -> Vec<String> {
    let layout = Layout::new(&plays.iter().map(|drawn| &drawn.play).collect::<Vec<_>>(), width, style);
    let mut lines = vec![format!("{} on route {}", style.bold(&revision.maker().to_string()), judged.route.name)];
    if judged.settings != json!({}) {
        lines.push(style.dim(&draw::cut(&format!("settings {}", judged.settings), width)));
    }
    for drawn in plays {
        lines.extend([String::new(), format!("{} {}", style.dim("error"), style.bold(&drawn.error)), String::new()]);
        lines.extend(layout.draw(&drawn.play));
    }
    lines.push(String::new());
    lines.push(style.dim("● an attempt fails   ━ waits in process, holding a slot   ┄ waits in a tier"));
    lines
}

impl TimelineArguments {
    /// The failure that everything starts from.
    fn first_failure(&self, prefix: &str) -> anyhow::Result<Failure> {
        let mut failure = match &self.failure {
            None => Failure::from_written(&json!({})).context("an empty failure is one")?,
            Some(path) => failure_argument::read_file(path)?,
        };
        let message = Arc::make_mut(&mut failure.message);
        // What is known of its past is in the failure; in headers it would count twice.
        message.headers.retain(|name| !name.starts_with(prefix));
        for (name, value) in &self.headers {
            message.headers.set(name.as_str(), value.as_str());
        }
        let age = self.age.map_or(failure.age_ms, millis);
        message.timestamp = Some(Timestamp(failure.now.0.saturating_sub(age)));
        if let Some(left) = self.expires_in.map(millis).or(failure.expires_in_ms) {
            message.properties.expiration = Some(left.to_string());
        }
        failure.error.status = self.status.or(failure.error.status);
        failure.error.retry_after = self.retry_after.map(millis).or(failure.error.retry_after);
        if self.seed != 0 {
            failure.seed = self.seed;
        }
        Ok(failure)
    }

    /// One for each kind of error.
    fn failures<'f>(&'f self, first: &'f Failure) -> impl Iterator<Item = Failure> + 'f {
        let kinds = self.errors.iter().map(|kind| {
            let said = HandlerError::from_kind(kind, "");
            let status = self.status.or(said.status);
            Failure { error: HandlerError { status, retry_after: first.error.retry_after, ..said }, ..first.clone() }
        });
        let as_it_is = self.errors.is_empty().then(|| first.clone());
        kinds.chain(as_it_is)
    }

    fn play(&self, judged: &Judged, revision: &Revision, rules: &Rules, failure: Failure) -> Drawn {
        let error = failure.error.kind.clone();
        let known = KnownStarts {
            starts: failure.attempt.saturating_sub(1),
            interruptions: failure.interruptions,
            ..KnownStarts::default()
        };
        let (handler_time, attempts) = (self.handler_time, self.attempts);
        let script = Script { failure, handler_time, attempts, known, judge_only: !judged.has_handler() };
        let decide = |failure: &Arc<Failure>| Decision {
            maker: Some(Arc::clone(revision.maker())),
            result: revision.measure(failure).result,
        };
        Drawn { error, play: play(&script, rules.clone(), decide) }
    }
}
