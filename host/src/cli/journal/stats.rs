//! `reprieve journal stats`

mod chart;
mod svg;
mod tally;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;

use super::asked::AskedArguments;
use super::source::{Source, SourceArguments};
use super::{table, words};
use crate::cli::style::Style;
use crate::journal::Filter;
pub(super) use svg::draw as drawing;
use tally::Tally;

/// Count failures by route, error kind, policy and outcome, and draw them over time
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct StatsArguments {
    #[command(flatten)]
    source: SourceArguments,

    #[command(flatten)]
    asked: AskedArguments,

    /// The time that one column of the chart stands for, such as 5m; without it, what gives up to 60 columns
    #[arg(short, long, value_name = "TIME", value_parser = humantime::parse_duration)]
    bucket: Option<Duration>,

    /// Draw the chart into this file too, as SVG
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,

    /// All as one JSON object
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  reprieve journal stats --since 24h
  reprieve journal stats --route orders --since 7d --bucket 6h --svg orders.svg
  reprieve journal stats --since 1h --json | jq .outcomes";

pub(super) fn stats(arguments: &StatsArguments) -> anyhow::Result<ExitCode> {
    let sources = arguments.source.open()?;
    let filter = arguments.asked.filter();
    let mut out = std::io::stdout().lock();
    let tally = counted(&sources, &filter, arguments.bucket)?;
    if let Some(path) = &arguments.svg {
        std::fs::write(path, drawing(&tally)).with_context(|| format!("cannot write {}", path.display()))?;
    }
    if arguments.json {
        writeln!(out, "{}", serde_json::to_string(&tally)?)?;
    } else {
        for line in view(&tally, Style::for_stdout()) {
            writeln!(out, "{line}")?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// All journals together.
pub(super) fn counted(sources: &[Source], filter: &Filter, bucket: Option<Duration>) -> anyhow::Result<Tally> {
    let mut spans = Vec::new();
    for source in sources {
        spans.extend(source.reader.span(filter)?);
    }
    let first = spans.iter().map(|(first, _)| *first).min().unwrap_or_default();
    let last = spans.iter().map(|(_, last)| *last).max().unwrap_or_default();
    let mut tally = Tally::new(first, last, bucket)?;
    for source in sources {
        source.reader.counts(filter, tally.bucket())?.iter().for_each(|count| tally.add(count));
    }
    Ok(tally)
}

/// As people read it.
pub(super) fn view(tally: &Tally, style: Style) -> Vec<String> {
    if tally.failures == 0 {
        return vec!["no failure like that is recorded".to_owned()];
    }
    let mut lines = vec![
        format!(
            "{} between {} and {}, {} without a verdict of their policy",
            style.bold(&format!("{} failures", tally.failures)),
            words::time(tally.first),
            words::time(tally.last),
            tally.faults
        ),
        String::new(),
    ];
    lines.extend(chart::draw(tally, style));
    for (name, counts) in tally.groups() {
        let mut rows: Vec<_> = counts.iter().collect();
        rows.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
        let share = |count: u64| format!("{:.1} %", count as f64 * 100.0 / tally.failures as f64);
        let rows = rows
            .iter()
            .map(|(name, count)| vec![crate::cli::dead_letters::excerpt(name, 60), count.to_string(), share(**count)]);
        lines.push(String::new());
        lines.extend(table::lines(&[name, "failures", "share"], &rows.collect::<Vec<_>>(), style));
    }
    lines
}
