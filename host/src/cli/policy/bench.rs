//! `reprieve policy bench`

mod latency;
mod measure;
mod view;

use std::io::Write as _;
use std::num::NonZeroU32;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use serde_json::json;

use super::failure_argument::FailureArguments;
use super::judged::{Judged, JudgedArguments};
use crate::cli::style::Style;
use crate::config::ConfigError;
use crate::failure::Failure;
use crate::policy::usage::Usage;
use latency::Latency;
use measure::{Times, measure};
use view::View;

/// Measure what a policy's decisions cost
///
/// Has the policy judge one failure again and again, as a host does: each time by a clean instance. Shows how long it takes,
/// how many decisions a second one and two threads make, and what is used of the host's limits.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct BenchArguments {
    #[command(flatten)]
    judged: JudgedArguments,

    #[command(flatten)]
    failure: FailureArguments,

    /// How long to measure on one thread; on two threads half as long
    #[arg(short = 't', long, value_name = "NUMBER", default_value = "3")]
    seconds: NonZeroU32,

    /// Print the numbers as JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  reprieve policy bench my-policy.wasm
  reprieve policy bench my-policy.wasm -c reprieve.toml --route orders --seconds 10
  reprieve policy bench my-policy.wasm --failure dead-letter.json
  reprieve policy bench my-policy.wasm --json | jq .latency_ns.p99

Without a failure it is the second attempt of a message with 8 headers, error http-503.

Exit codes:
  0  measured
  1  the command failed
  2  the arguments, the configuration, the settings or the failure are wrong, or a host would not load the policy";

/// All that was measured.
#[derive(Debug)]
struct Measurement {
    maker: String,
    failure: Failure,
    /// On one thread.
    decisions: usize,
    /// Of the first of them, where they are more than are kept.
    latency: Latency,
    /// Decisions that gave no verdict, by what the fault said first.
    faults: usize,
    fault: Option<String>,
    /// Decisions a second.
    one_thread: f64,
    two_threads: f64,
    load: Duration,
    instructions: Option<u64>,
    memory: Usage,
    file: Usage,
    deadline: Duration,
}

pub(super) fn bench(arguments: &BenchArguments) -> anyhow::Result<ExitCode> {
    let judged = arguments.judged.read()?;
    let failure = arguments.failure()?;
    let times = Times::new(Duration::from_secs(arguments.seconds.get().into()));
    let measurement = measure(&judged, failure, times)?;
    let mut out = std::io::stdout().lock();
    if arguments.json {
        writeln!(out, "{:#}", measurement.json(&judged))?;
    } else {
        write!(out, "{}", View { measurement: &measurement, style: Style::for_stdout() })?;
    }
    Ok(ExitCode::SUCCESS)
}

impl BenchArguments {
    fn failure(&self) -> anyhow::Result<Failure> {
        if !self.failure.is_given() {
            return ordinary_failure();
        }
        let given = self.failure.read()?;
        Ok(given.ok_or_else(|| ConfigError::Unusable("standard input holds no failure".into()))?.failure)
    }
}

fn ordinary_failure() -> anyhow::Result<Failure> {
    let headers: serde_json::Map<_, _> =
        ["tenant", "trace-id", "source", "region", "version", "team", "priority", "lang"]
            .into_iter()
            .map(|name| (name.to_owned(), format!("a value of {name}").into()))
            .collect();
    let body = json!({ "order": 4711, "items": ["a", "b", "c"] }).to_string();
    let message =
        json!({ "id": "4711", "headers": headers, "body": body, "properties": { "content_type": "application/json" } });
    Failure::from_written(&json!({ "attempt": 2, "error": "http-503", "age": "5s", "message": message }))
        .context("the failure that is measured with is not one")
}

impl Measurement {
    fn json(&self, judged: &Judged) -> serde_json::Value {
        let nanos = |duration: Duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let latency = &self.latency;
        json!({
            "policy": self.maker,
            "route": judged.route.name,
            "failure": self.failure,
            "decisions": self.decisions,
            "timed": latency.count(),
            "faults": self.faults,
            "fault": self.fault,
            "latency_ns": {
                "p50": nanos(latency.quantile(0.5)),
                "p90": nanos(latency.quantile(0.9)),
                "p99": nanos(latency.quantile(0.99)),
                "max": nanos(latency.quantile(1.0)),
            },
            "deadline_ns": nanos(self.deadline),
            "per_second": { "one_thread": self.one_thread.round(), "two_threads": self.two_threads.round() },
            "load_ms": self.load.as_millis(),
            "instructions": self.instructions,
            "usage": [self.memory, self.file],
            "optimized": !cfg!(debug_assertions),
        })
    }
}

#[cfg(test)]
mod tests;
