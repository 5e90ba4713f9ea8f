//! Where the failures come from.

use std::io::{IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::Value;

use crate::cli::journal::asked::time;
use crate::cli::journal::source::Source as Journal;
use crate::config::ConfigError;
use crate::failure::{DeadLetter, Failure};
use crate::journal::backtest::{Content, Record};
use crate::journal::{Entry, Filter, JournalError, Kept, Reader};
use crate::timestamp::Timestamp;
use crate::verdict::{Fault, FaultKind};

/// Between two lines of progress.
const SAY: Duration = Duration::from_millis(500);

/// Which failures.
#[derive(Debug, Clone, Args)]
pub(super) struct SourceArguments {
    /// A host's journal, or its state folder; without it, that of the configuration. May be given many times
    #[arg(long, value_name = "PATH", conflicts_with = "failures")]
    journal: Vec<PathBuf>,

    /// Failures in JSON instead: a list, or one a line, as `reprieve journal export` and `dead-letters peek --json` print
    /// them; - is standard input
    #[arg(long, value_name = "FILE")]
    failures: Option<PathBuf>,

    /// Only failures since then: so long ago, such as 7d, or a time, such as 2026-11-30T12:00:00Z
    #[arg(long, value_name = "TIME", value_parser = time)]
    since: Option<Timestamp>,

    /// Only failures before then
    #[arg(long, value_name = "TIME", value_parser = time)]
    until: Option<Timestamp>,

    /// Only failures with errors of this kind
    #[arg(short = 'k', long, value_name = "KIND")]
    error_kind: Option<String>,
}

/// Failures, ready to be read.
pub(super) enum Source {
    Journals { readers: Vec<Reader>, filter: Filter },
    Entries { name: String, entries: Vec<Entry>, is_every_kind: bool },
}

impl SourceArguments {
    /// Opens the journals, or reads the file, for these routes; for any where there are none. `needs_record` says that each
    /// failure needs the verdict that was given.
    pub(super) fn open(&self, config: Option<&Path>, routes: &[String], needs_record: bool) -> anyhow::Result<Source> {
        let filter = Filter {
            route: if let [only] = routes { Some(only.clone()) } else { None },
            error_kind: self.error_kind.clone(),
            since: self.since,
            until: self.until,
            ..Filter::default()
        };
        if let Some(file) = &self.failures {
            return self.read(file, &filter, routes, needs_record);
        }
        let journals = match (&self.journal[..], config) {
            ([], None) => {
                return Err(ConfigError::Unusable(
                    "there are no failures to judge\n = help: name a configuration with -c, whose host recorded them, or --journal or \
                     --failures"
                        .to_owned(),
                )
                .into());
            }
            ([], Some(config)) => vec![Journal::of_host(config)?],
            (paths, _) => paths.iter().map(|path| Journal::open(path)).collect::<Result<_, _>>().map_err(unusable)?,
        };
        let readers = journals.into_iter().map(|journal| journal.reader).collect();
        Ok(Source::Journals { readers, filter })
    }

    fn read(&self, file: &Path, filter: &Filter, routes: &[String], needs_record: bool) -> anyhow::Result<Source> {
        let name = if file.as_os_str() == "-" { "standard input".to_owned() } else { file.display().to_string() };
        let wrong = |what: String| {
            ConfigError::Unusable(format!(
                "cannot use the failures in {name}: {what}\n = help: write a JSON list of failures, or one a line"
            ))
        };
        let mut text = String::new();
        match file.as_os_str() == "-" {
            true => std::io::stdin().read_to_string(&mut text).map(drop),
            false => std::fs::File::open(file).and_then(|mut file| file.read_to_string(&mut text)).map(drop),
        }
        .map_err(|error| wrong(error.to_string()))?;
        let values = values(&text).map_err(|error| wrong(error.to_string()))?;
        let mut entries = Vec::with_capacity(values.len());
        for (number, value) in (1..).zip(values) {
            let (entry, is_recorded) =
                entry(number, value).map_err(|error| wrong(format!("failure {number}: {error}")))?;
            if needs_record && !is_recorded {
                return Err(wrong(format!(
                    "failure {number} has no verdict that was given; name what to compare with: --against OLD.wasm"
                ))
                .into());
            }
            if entry.route.is_empty() && routes.len() > 1 {
                let routes = routes.join(", ");
                return Err(wrong(format!("failure {number} names no route; choose one with --route: {routes}")).into());
            }
            let at = entry.failure.now;
            let is_wanted = filter.error_kind.as_ref().is_none_or(|kind| *kind == entry.failure.error.kind)
                && filter.since.is_none_or(|since| at >= since)
                && filter.until.is_none_or(|until| at < until);
            if is_wanted {
                entries.push(entry);
            }
        }
        Ok(Source::Entries { name, entries, is_every_kind: filter.error_kind.is_none() })
    }
}

/// A list, or one value after the other.
fn values(text: &str) -> serde_json::Result<Vec<Value>> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>().collect::<Result<Vec<_>, _>>()?;
    match &mut values[..] {
        [Value::Array(list)] => Ok(std::mem::take(list)),
        _ => Ok(values),
    }
}

/// An entry as the journal exports it, a dead letter, or a failure; and whether it says what verdict was given.
fn entry(number: u64, value: Value) -> Result<(Entry, bool), String> {
    if value.get("answer").is_some() && value.get("failure").is_some() {
        return serde_json::from_value(value).map(|entry| (entry, true)).map_err(|error| error.to_string());
    }
    let (failure, route) = match DeadLetter::from_printed(&value).map_err(|error| error.to_string())? {
        Some(letter) => (letter.failure, letter.route.unwrap_or_default()),
        None => (Failure::from_written(&value).map_err(|error| error.to_string())?, String::new()),
    };
    let answer = Err(Fault::new(FaultKind::NoPolicy, "not recorded"));
    let kept = Kept::default();
    Ok((Entry { id: number, route, failure, kept, maker: None, answer, outcome: None, candidate: None }, false))
}

impl Source {
    /// The files that the failures are read from.
    pub(super) fn files(&self) -> Vec<String> {
        match self {
            Self::Entries { name, .. } => vec![name.clone()],
            Self::Journals { readers, .. } => {
                readers.iter().map(|reader| reader.file().display().to_string()).collect()
            }
        }
    }

    /// Whether no failure of a message is left out for its kind.
    pub(super) fn has_whole_messages(&self) -> bool {
        match self {
            Self::Entries { is_every_kind, .. } => *is_every_kind,
            Self::Journals { filter, .. } => filter.error_kind.is_none(),
        }
    }

    /// What the failures are read from, in words.
    pub(super) fn describe(&self) -> String {
        let files = self.files().join(", ");
        let Self::Journals { filter, .. } = self else { return files };
        let route = filter.route.as_ref().map(|route| format!(", route {route}")).unwrap_or_default();
        let since = filter.since.map(|since| format!(", since {since}")).unwrap_or_default();
        format!("{files}{route}{since}")
    }

    /// Hands out every failure until `each` says no, and says on a terminal how many of all of them are `done`.
    pub(super) fn feed(
        &self,
        done: &str,
        total: Option<u64>,
        each: &mut dyn FnMut(Record) -> bool,
    ) -> Result<(), JournalError> {
        let is_watched = std::io::stderr().is_terminal();
        let (mut count, mut said) = (0_u64, Instant::now());
        let mut hand_out = |journal, content| {
            count += 1;
            if is_watched && count.is_multiple_of(1024) && said.elapsed() >= SAY {
                said = Instant::now();
                let of = total.map(|total| format!(" of {total}")).unwrap_or_default();
                eprint!("\r{count}{of} failures {done}");
            }
            each(Record { journal, content })
        };
        match self {
            Self::Entries { entries, .. } => {
                entries.iter().all(|entry| hand_out(0, Content::Entry(Box::new(entry.clone()))));
            }
            Self::Journals { readers, filter } => {
                for (journal, reader) in readers.iter().enumerate() {
                    reader.raw_entries(filter, |raw| hand_out(journal, Content::Raw(raw)))?;
                }
            }
        }
        if is_watched {
            eprint!("\r\x1b[K");
        }
        Ok(())
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that map_err takes")]
fn unusable(error: JournalError) -> ConfigError {
    ConfigError::Unusable(error.to_string())
}
