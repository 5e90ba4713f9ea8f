//! `reprieve journal show`

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::bail;
use clap::Args;
use serde::Serialize;

use super::merge::{Recorded, oldest_first};
use super::source::{Source, SourceArguments};
use super::story;
use crate::cli::style::Style;
use crate::journal::{End, Filter};
use crate::timestamp::Timestamp;

/// Tell one message's whole life: each failure, who judged it and why, what became of it, across tiers and hosts
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ShowArguments {
    #[command(flatten)]
    source: SourceArguments,

    /// The message's id; or `#` and the number of an entry, as `query` shows it
    #[arg(value_name = "MESSAGE-ID|#ENTRY")]
    what: String,

    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  reprieve journal show 4711
  reprieve journal show '#1042'
  reprieve journal show 4711 --journal host-1/state --journal host-2/state";

/// A thing that was recorded of a message.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub(in crate::cli) enum Event {
    Failed(Box<Recorded>),
    Ended { host: Arc<str>, end: End },
}

impl Event {
    pub(in crate::cli) fn at(&self) -> Timestamp {
        match self {
            Self::Failed(recorded) => recorded.entry.failure.now,
            Self::Ended { end, .. } => end.at,
        }
    }
}

pub(super) fn show(arguments: &ShowArguments) -> anyhow::Result<ExitCode> {
    let sources = arguments.source.open()?;
    let events = life(&sources, &arguments.what)?;
    let mut out = std::io::stdout().lock();
    if arguments.json {
        for event in &events {
            writeln!(out, "{}", serde_json::to_string(event)?)?;
        }
    } else {
        for line in story::tell(&events, Style::for_stdout()) {
            writeln!(out, "{line}")?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// All that is known of a message, in the order of time.
pub(in crate::cli) fn life(sources: &[Source], what: &str) -> anyhow::Result<Vec<Event>> {
    let id = match what.strip_prefix('#').and_then(|number| number.parse().ok()) {
        None => what.to_owned(),
        Some(number) => {
            let recorded = entry(sources, number)?;
            match recorded.entry.failure.message.id.clone() {
                Some(id) => id,
                // Nothing ties it to other entries.
                None => return Ok(vec![Event::Failed(Box::new(recorded))]),
            }
        }
    };
    let mut events = Vec::new();
    let filter = Filter { message_id: Some(id.clone()), ..Filter::default() };
    oldest_first(sources, &filter, |recorded| -> anyhow::Result<()> {
        events.push(Event::Failed(Box::new(recorded)));
        Ok(())
    })?;
    for source in sources {
        let ends = source.reader.ends(Some(&id))?;
        events.extend(ends.into_iter().map(|end| Event::Ended { host: Arc::clone(&source.host), end }));
    }
    if events.is_empty() {
        bail!(
            "nothing is recorded of a message {id:?} in {}; it never failed there, or so long ago that it was taken out; \
             name other hosts' journals with --journal",
            files(sources)
        );
    }
    events.sort_by_key(Event::at);
    Ok(events)
}

fn entry(sources: &[Source], number: u64) -> anyhow::Result<Recorded> {
    let mut found = Vec::new();
    for source in sources {
        if let Some(entry) = source.reader.entry_of(number)? {
            found.push(Recorded { host: Arc::clone(&source.host), entry });
        }
    }
    match found.len() {
        0 => bail!("there is no entry #{number} in {}; `reprieve journal query` shows their numbers", files(sources)),
        1 => Ok(found.remove(0)),
        _ => bail!("several of these journals have an entry #{number}; name one of them with --journal"),
    }
}

pub(in crate::cli) fn files(sources: &[Source]) -> String {
    sources.iter().map(|source| source.reader.file().display().to_string()).collect::<Vec<_>>().join(", ")
}
