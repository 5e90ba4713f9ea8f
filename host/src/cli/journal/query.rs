//! `reprieve journal query`

use std::io::Write;
use std::process::ExitCode;

use clap::Args;

use super::asked::AskedArguments;
use super::merge::{Recorded, latest};
use super::source::SourceArguments;
use super::{table, words};
use crate::cli::style::Style;

/// Show the latest failures that meet all that is asked
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct QueryArguments {
    #[command(flatten)]
    source: SourceArguments,

    #[command(flatten)]
    asked: AskedArguments,

    /// The most to show
    #[arg(short = 'n', long, value_name = "NUMBER", default_value_t = 20)]
    limit: usize,

    /// One JSON object a line, with everything that was recorded
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  reprieve journal query --outcome dead-lettered --since 1h
  reprieve journal query --route orders --error-kind timeout --limit 100
  reprieve journal query --message 4711 --json | jq .answer";

pub(super) fn query(arguments: &QueryArguments) -> anyhow::Result<ExitCode> {
    let sources = arguments.source.open()?;
    let found = latest(&sources, &arguments.asked.filter(), arguments.limit)?;
    let mut out = std::io::stdout().lock();
    if arguments.json {
        for recorded in &found {
            writeln!(out, "{}", serde_json::to_string(recorded)?)?;
        }
    } else if found.is_empty() {
        let files: Vec<_> = sources.iter().map(|source| source.reader.file().display().to_string()).collect();
        writeln!(out, "no failure like that is in {}", files.join(", "))?;
    } else {
        for line in view(&found, sources.len() > 1, Style::for_stdout()) {
            writeln!(out, "{line}")?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A row for each.
pub(super) fn view(found: &[Recorded], with_hosts: bool, style: Style) -> Vec<String> {
    let mut heading = vec!["failed at", "entry", "route", "message", "attempt", "error", "verdict", "outcome"];
    if with_hosts {
        heading.push("host");
    }
    let rows: Vec<_> = found.iter().map(|recorded| row(recorded, with_hosts)).collect();
    table::lines(&heading, &rows, style)
}

fn row(Recorded { host, entry }: &Recorded, with_hosts: bool) -> Vec<String> {
    let mut row = vec![
        words::time(entry.failure.now),
        format!("#{}", entry.id),
        entry.route.clone(),
        words::id(entry),
        entry.failure.attempt.to_string(),
        crate::cli::dead_letters::excerpt(&entry.failure.error.kind, 40),
        words::answer(entry),
        words::outcome(entry.outcome.as_ref()),
    ];
    if with_hosts {
        row.push(host.to_string());
    }
    row
}
