//! `reprieve demo`
//!
//! * `script`: what is sent, and what each message meets.
//! * `sender`, `handler`: the two ends, each with a ledger of its own; `audit` compares them.
//! * `stage`: the host between them, and the folder of policies.
//! * `tally`, `occurrence`: what the host's events say.
//! * `show`: the demo from its beginning to its end, and its `report`.
//! * `view`: what is seen of it.

mod audit;
mod handler;
mod occurrence;
mod report;
mod script;
mod sender;
mod show;
mod stage;
mod tally;
#[cfg(test)]
mod tests;
mod view;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use tokio::signal::unix::{SignalKind, signal};

use super::FAILED;
use super::style::Style;
use crate::broker::memory::MemoryBroker;
use show::Show;
use view::{View, print, summary};

/// Show what Reprieve does, with nothing else installed
///
/// Sends messages through a broker in memory to a handler that fails in five different ways, shows what becomes of
/// each, and swaps the policy half-way without a pause. Ends with a count: what was consumed, what became of it, and
/// how many were lost, as the sender and the receiver saw it.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub struct DemoArguments {
    /// Print only the counts, as one JSON object
    ///
    /// `consumed` counts attempts; each succeeds or is retried, delayed, dead-lettered, requeued or dropped.
    #[arg(long)]
    pub json: bool,

    /// How many messages to send
    #[arg(long, value_name = "NUMBER", default_value_t = 200, value_parser = clap::value_parser!(u32).range(10..=100_000))]
    pub messages: u32,
}

const EXAMPLES: &str = "\
Examples:
  reprieve demo                     watch it
  reprieve demo --json              the counts, for a script
  reprieve demo --messages 5000     more of it

Exit codes:
  0  no message was lost
  1  a message was lost, or something failed while running
  2  the arguments are wrong";

/// However many messages are sent, it takes this long.
const SENDING: Duration = Duration::from_secs(5);

/// Shows it, and fails where a message was lost or the policy was not swapped.
///
/// # Errors
/// There is no room for the policies in the temporary folder, or the standard output cannot be written.
pub fn demo(arguments: &DemoArguments) -> anyhow::Result<ExitCode> {
    handler::hide_scripted_panics();
    let runtime = tokio::runtime::Runtime::new().context("cannot start the threads that the demo runs on")?;
    let mut view = if arguments.json { View::Silent } else { View::for_stdout() };
    let messages = arguments.messages;
    let broker = MemoryBroker::new(MemoryBroker::DEFAULT_CAPACITY.max(messages as usize));
    let show = Show { messages, sending: SENDING };
    let report = runtime.block_on(async {
        // Before anything else, so that the temporary folder is removed whenever Ctrl-C comes.
        let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for Ctrl-C")?;
        show.run(broker, &mut view, async move {
            interrupt.recv().await;
        })
        .await
    })?;
    match view {
        View::Silent => print(&format!("{}\n", serde_json::to_string(&report.counts())?))?,
        View::Lines { .. } => print(&summary::text(&report, true, Style::PLAIN))?,
        View::Table { style, .. } => print(&summary::text(&report, false, style))?,
    }
    Ok(if report.is_good() { ExitCode::SUCCESS } else { ExitCode::from(FAILED) })
}
