//! `reprieve policy history`

mod tenure;

use std::io::Write;
use std::process::ExitCode;

use clap::Args;

use crate::cli::journal::source::{Source, SourceArguments};
use crate::cli::journal::{table, words};
use crate::cli::style::Style;
use tenure::{Line, lines};

/// Show which policy was live on which route, from when to when
///
/// Read from the journals of hosts, with the candidates that were tried, promoted and rolled back in between.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct HistoryArguments {
    #[command(flatten)]
    source: SourceArguments,

    /// Only this route
    #[arg(value_name = "ROUTE")]
    route: Option<String>,

    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  reprieve policy history
  reprieve policy history orders --journal host-1/state --journal host-2/state";

pub(super) fn history(arguments: &HistoryArguments) -> anyhow::Result<ExitCode> {
    let sources = arguments.source.open()?;
    let all = recorded(&sources, arguments.route.as_deref())?;
    let mut out = std::io::stdout().lock();
    if arguments.json {
        for line in &all {
            writeln!(out, "{}", serde_json::to_string(line)?)?;
        }
    } else if all.is_empty() {
        writeln!(out, "no policy's going live is recorded there; a host records it when it swaps one in")?;
    } else {
        for line in view(&all, Style::for_stdout()) {
            writeln!(out, "{line}")?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The lines of all hosts, by route and host, the oldest first.
fn recorded(sources: &[Source], route: Option<&str>) -> anyhow::Result<Vec<Line>> {
    let mut all = Vec::new();
    for source in sources {
        let mut of_host = lines(&source.host, &source.reader.steps(route)?);
        for line in &mut of_host {
            if let Line::Live(tenure) = line {
                tenure.count(&source.reader.revision_counts(
                    &tenure.route,
                    &tenure.maker,
                    tenure.from,
                    tenure.until,
                )?);
            }
        }
        all.extend(of_host);
    }
    all.sort_by(|a, b| a.order().cmp(&b.order()));
    Ok(all)
}

fn view(all: &[Line], style: Style) -> Vec<String> {
    let heading = ["route", "host", "from", "until", "policy", "file", "decisions", "faults", "signed by", "and then"];
    let rows: Vec<_> = all.iter().map(row).collect();
    table::lines(&heading, &rows, style)
}

fn row(line: &Line) -> Vec<String> {
    let text = |text: Option<&str>| text.unwrap_or("-").to_owned();
    match line {
        Line::Live(live) => vec![
            live.route.clone(),
            live.host.clone(),
            words::time(live.from),
            live.until.map_or_else(|| "live".to_owned(), words::time),
            live.maker.to_string(),
            match (&live.digest, live.size) {
                (Some(digest), Some(size)) => {
                    format!("{} {}", digest.get(..12).unwrap_or(digest), super::usage::bytes(size))
                }
                _ => "-".to_owned(),
            },
            live.decisions.to_string(),
            live.faults.to_string(),
            text(live.signed_by.as_deref()),
            text(live.left.as_deref()),
        ],
        Line::Between { host, step } => {
            let who = step.maker.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string);
            let count = |count: Option<u64>| count.map_or_else(|| "-".to_owned(), |count| count.to_string());
            vec![
                step.route.clone(),
                host.clone(),
                words::time(step.at),
                step.kind.name().to_owned(),
                who,
                step.digest.as_deref().map_or("-", |digest| digest.get(..12).unwrap_or(digest)).to_owned(),
                count(step.decisions),
                count(step.faults),
                text(step.signed_by.as_deref()),
                crate::cli::dead_letters::excerpt(&step.reason, 120),
            ]
        }
    }
}

#[cfg(test)]
mod tests;
