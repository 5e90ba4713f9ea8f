//! Tests again whenever something changed.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::spawn_blocking;

use super::inputs::{Inputs, default_folders};
use super::report::Report;
use super::text::{self, Text};
use super::{TestArguments, WRONG, code, engine, record};
use crate::cli::style::Style;
use crate::policy::engine::Engine;
use crate::policy::watcher::{FolderWatch, Hinted, Hints, hints};

/// For how long nothing may have been written before it is read.
const QUIET: Duration = Duration::from_millis(200);
/// How often to look where no change is told of: some file systems tell of none.
const LOOK_ANYWAY: Duration = Duration::from_secs(2);
/// Clears the screen and goes to its top; what has scrolled away stays.
const CLEAR: &str = "\x1b[2J\x1b[H";

/// Tests until told to stop; the exit code is then the last result's.
pub(super) fn watch(arguments: &TestArguments) -> anyhow::Result<u8> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ended = runtime.block_on(until_told(arguments));
    // A case that is being judged is not waited for.
    runtime.shutdown_background();
    ended
}

async fn until_told(arguments: &TestArguments) -> anyhow::Result<u8> {
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot wait for Ctrl-C")?;
    let mut terminate = signal(SignalKind::terminate()).context("cannot wait for SIGTERM")?;
    let mut session = Session::new(arguments)?;
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        failed = session.run() => match failed? {},
    }
    Ok(session.last_code)
}

struct Session<'a> {
    arguments: &'a TestArguments,
    engine: Engine,
    hints: Hints,
    hinted: Hinted,
    folders: BTreeMap<PathBuf, FolderWatch>,
    /// What the results on the screen are about.
    shown: Option<Seen>,
    /// What could not be tested, and may have been half written.
    doubted: Option<Seen>,
    last_code: u8,
}

/// What was read.
#[derive(PartialEq, Eq)]
enum Seen {
    Inputs([u8; 32]),
    /// It could not be used.
    Wrong(String),
}

impl<'a> Session<'a> {
    fn new(arguments: &'a TestArguments) -> anyhow::Result<Self> {
        let (hints, hinted) = hints();
        Ok(Self {
            arguments,
            engine: engine()?,
            hints,
            hinted,
            folders: BTreeMap::new(),
            shown: None,
            doubted: None,
            last_code: WRONG,
        })
    }

    async fn run(&mut self) -> anyhow::Result<Infallible> {
        loop {
            let unwatched = self.arm();
            let in_doubt = self.look(&unwatched).await?;
            tokio::select! {
                () = self.hinted.changed() => self.hinted.settle(QUIET).await,
                () = tokio::time::sleep(if in_doubt { QUIET } else { LOOK_ANYWAY }) => {}
            }
        }
    }

    /// Watches every folder that matters now, before anything is read in it. What cannot be watched is returned.
    fn arm(&mut self) -> BTreeSet<String> {
        let wanted = folders(self.arguments);
        self.folders.retain(|folder, _| wanted.contains(folder));
        let mut unwatched = BTreeSet::new();
        for folder in wanted {
            let watch = self.folders.entry(folder).or_insert_with_key(|folder| FolderWatch::new(folder, &self.hints));
            unwatched.extend(watch.arm().err());
        }
        unwatched
    }

    /// Tests what is there now, unless that has been shown already. Says whether what is there may be half written.
    async fn look(&mut self, unwatched: &BTreeSet<String>) -> anyhow::Result<bool> {
        let arguments = self.arguments.clone();
        let inputs = spawn_blocking(move || Inputs::read(&arguments)).await?;
        let seen = match &inputs {
            Ok(inputs) => Seen::Inputs(inputs.digest()),
            Err(error) => Seen::Wrong(format!("{error:#}")),
        };
        if self.shown.as_ref() == Some(&seen) {
            return Ok(false);
        }
        let (engine, only) = (self.engine.clone(), self.arguments.only.clone());
        let judged = spawn_blocking(move || inputs?.judge(&engine, only.as_deref())).await?;
        if judged.is_err() && self.doubted.as_ref() != Some(&seen) {
            self.doubted = Some(seen);
            return Ok(true);
        }
        self.show(&judged, unwatched)?;
        self.shown = Some(seen);
        Ok(false)
    }

    fn show(&mut self, judged: &anyhow::Result<Report>, unwatched: &BTreeSet<String>) -> anyhow::Result<()> {
        let style = Style::for_stdout();
        let out = &mut io::stdout().lock();
        if io::stdout().is_terminal() {
            write!(out, "{CLEAR}")?;
        } else if self.shown.is_some() {
            writeln!(out)?;
        }
        self.last_code = match judged {
            Ok(report) => {
                write!(out, "{}", Text { report, style })?;
                record(self.arguments, report)?;
                code(report)
            }
            Err(error) => {
                writeln!(out, "{} {}", style.bad("error:"), text::error(error))?;
                WRONG
            }
        };
        for problem in unwatched {
            writeln!(out, "{}", style.dim(&format!("note: {problem}")))?;
        }
        writeln!(out, "{}", style.dim("waiting for changes; Ctrl-C ends"))?;
        Ok(out.flush()?)
    }
}

/// The folders in which a change may change the results.
fn folders(arguments: &TestArguments) -> BTreeSet<PathBuf> {
    let policy = &arguments.policy.file;
    let defaults = default_folders(policy);
    let cases = if arguments.cases.is_empty() { &defaults[..] } else { &arguments.cases };
    // What is no folder now may become one, of which the folder around it tells.
    let of_cases = cases.iter().map(|path| if path.is_dir() { path.clone() } else { around(path) });
    of_cases.chain([around(policy)]).collect()
}

fn around(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}
