//! `reprieve journal tail`

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;

use super::asked::AskedArguments;
use super::merge::{Recorded, latest, oldest_first};
use super::source::{Source, SourceArguments};
use super::words;
use crate::cli::dead_letters::excerpt;
use crate::cli::style::Style;
use crate::journal::Filter;
use crate::timestamp::Timestamp;

/// How often a journal is looked at.
const POLL: Duration = Duration::from_millis(300);
/// A failure is recorded before its outcome is durable: so long it is waited for.
const OUTCOME: Duration = Duration::from_secs(3);

/// Show the last failures, and follow what comes
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct TailArguments {
    #[command(flatten)]
    source: SourceArguments,

    #[command(flatten)]
    asked: AskedArguments,

    /// Go on with what is recorded from now on, until interrupted
    #[arg(short, long)]
    follow: bool,

    /// How many of the last to show
    #[arg(short = 'n', long, value_name = "NUMBER", default_value_t = 10)]
    lines: usize,

    /// One JSON object a line, with everything that was recorded
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  reprieve journal tail -n 50
  reprieve journal tail -f --route orders
  reprieve journal tail -f --outcome dead-lettered --json";

pub(super) fn tail(arguments: &TailArguments) -> anyhow::Result<ExitCode> {
    let sources = arguments.source.open()?;
    // A failure without an outcome has none to compare with, and would be passed over before it gets one.
    let asked = arguments.asked.filter();
    let mut ids = Vec::new();
    for source in &sources {
        ids.push(newest(source)?);
    }
    let mut last = latest(&sources, &asked, arguments.lines)?;
    last.reverse();
    let mut out = std::io::stdout().lock();
    let style = Style::for_stdout();
    let with_hosts = sources.len() > 1;
    let mut print = |recorded: &Recorded| -> anyhow::Result<()> {
        match arguments.json {
            true => writeln!(out, "{}", serde_json::to_string(recorded)?)?,
            false => writeln!(out, "{}", line(recorded, with_hosts, style))?,
        }
        Ok(out.flush()?)
    };
    for recorded in &last {
        print(recorded)?;
    }
    if !arguments.follow {
        return Ok(ExitCode::SUCCESS);
    }
    loop {
        std::thread::sleep(POLL);
        for (source, after) in sources.iter().zip(&mut ids) {
            for recorded in settled(source, &asked, after)? {
                print(&recorded)?;
            }
        }
    }
}

fn newest(source: &Source) -> anyhow::Result<u64> {
    let newest = latest(std::slice::from_ref(source), &Filter::default(), 1)?;
    Ok(newest.first().map_or(0, |recorded| recorded.entry.id))
}

/// What came after `after` and has its outcome, or will hardly get one; `after` moves behind it.
pub(super) fn settled(source: &Source, asked: &Filter, after: &mut u64) -> anyhow::Result<Vec<Recorded>> {
    let filter = Filter { after: Some(*after), outcome: None, ..asked.clone() };
    let (mut found, mut waits) = (Vec::new(), false);
    oldest_first(std::slice::from_ref(source), &filter, |recorded| -> anyhow::Result<()> {
        let entry = &recorded.entry;
        waits |= entry.outcome.is_none() && Timestamp::now().since(entry.failure.now) < OUTCOME;
        if !waits {
            *after = entry.id;
            let outcome = entry.outcome.as_ref().map(|outcome| outcome.kind);
            if asked.outcome.is_none() || asked.outcome == outcome {
                found.push(recorded);
            }
        }
        Ok(())
    })?;
    Ok(found)
}

/// One failure on one line.
pub(super) fn line(Recorded { host, entry }: &Recorded, with_hosts: bool, style: Style) -> String {
    let host = if with_hosts { format!("{host}  ") } else { String::new() };
    let time = style.dim(&words::time(entry.failure.now));
    let (route, id, attempt) = (&entry.route, style.bold(&words::id(entry)), entry.failure.attempt);
    let kind = style.bad(&excerpt(&entry.failure.error.kind, 40));
    let outcome = words::outcome(entry.outcome.as_ref());
    let reason = match &entry.answer {
        Ok(verdict) if verdict.reason.is_empty() => String::new(),
        Ok(verdict) => style.dim(&format!("  {}", excerpt(&verdict.reason, 100))),
        Err(fault) => style.bad(&format!("  fault: {}", excerpt(&fault.to_string(), 100))),
    };
    format!("{time}  {host}{route}  {id} attempt {attempt}  {kind} → {outcome}{reason}")
}
