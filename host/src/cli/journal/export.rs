//! `reprieve journal export`

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Args, ValueEnum};

use super::asked::AskedArguments;
use super::merge::{Recorded, oldest_first};
use super::source::{Source, SourceArguments};
use crate::journal::Filter;

/// Write failures out for other programs, the oldest first
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ExportArguments {
    #[command(flatten)]
    source: SourceArguments,

    #[command(flatten)]
    asked: AskedArguments,

    /// How: everything as one JSON object a line, or the main columns for a spreadsheet
    #[arg(short, long, value_enum, default_value_t = Format::Jsonl)]
    format: Format,

    /// Where to; without it, standard output
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    Jsonl,
    Csv,
}

const EXAMPLES: &str = "\
Examples:
  reprieve journal export --since 7d > failures.jsonl
  reprieve journal export --format csv --to failures.csv --route orders";

const COLUMNS: &str = "host,entry,failed_at,route,message_id,attempt,error_kind,error,policy,revision,verdict,reason,fault,\
                       outcome,outcome_at,place,due,override";

pub(super) fn export(arguments: &ExportArguments) -> anyhow::Result<ExitCode> {
    let sources = arguments.source.open()?;
    let filter = arguments.asked.filter();
    match &arguments.to {
        None => write(&sources, &filter, arguments.format, BufWriter::new(std::io::stdout().lock()))?,
        Some(path) => {
            let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
            write(&sources, &filter, arguments.format, BufWriter::new(file))
                .with_context(|| format!("{} is not complete", path.display()))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn write(sources: &[Source], filter: &Filter, format: Format, mut out: impl Write) -> anyhow::Result<()> {
    if format == Format::Csv {
        write!(out, "{COLUMNS}\r\n")?;
    }
    oldest_first(sources, filter, |recorded| -> anyhow::Result<()> {
        match format {
            Format::Jsonl => writeln!(out, "{}", serde_json::to_string(&recorded)?)?,
            Format::Csv => write!(out, "{}\r\n", csv(&recorded))?,
        }
        Ok(())
    })?;
    Ok(out.flush()?)
}

fn csv(Recorded { host, entry }: &Recorded) -> String {
    let (failure, maker) = (&entry.failure, entry.maker.as_ref());
    let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
    let (verdict, fault) = (entry.answer.as_ref().ok(), entry.answer.as_ref().err());
    let outcome = entry.outcome.as_ref();
    let cells = [
        host.to_string(),
        entry.id.to_string(),
        failure.now.to_string(),
        entry.route.clone(),
        text(failure.message.id.as_deref()),
        failure.attempt.to_string(),
        failure.error.kind.clone(),
        failure.error.text.clone(),
        text(maker.map(|maker| maker.policy.as_str())),
        text(maker.map(|maker| maker.revision.as_str())),
        text(verdict.map(|verdict| verdict.action.name())),
        text(verdict.map(|verdict| verdict.reason.as_str())),
        fault.map(ToString::to_string).unwrap_or_default(),
        text(outcome.map(|outcome| outcome.kind.name())),
        outcome.map(|outcome| outcome.at.to_string()).unwrap_or_default(),
        text(outcome.and_then(|outcome| outcome.place.as_deref())),
        outcome.and_then(|outcome| outcome.due).map(|due| due.to_string()).unwrap_or_default(),
        text(outcome.and_then(|outcome| outcome.overridden.as_deref())),
    ];
    cells.map(quoted).join(",")
}

/// As RFC 4180 has it.
fn quoted(cell: String) -> String {
    if cell.contains([',', '"', '\n', '\r']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_cell_with_commas_quotes_or_line_ends_is_quoted() {
        let quoted = |cell: &str| super::quoted(cell.to_owned());
        assert_eq!(quoted("plain"), "plain");
        assert_eq!(quoted("a,b"), "\"a,b\"");
        assert_eq!(quoted("say \"no\"\r\n"), "\"say \"\"no\"\"\r\n\"");
    }
}
