//! `reprieve journal …`: what hosts recorded of their failures, one file a command.

pub(in crate::cli) mod asked;
mod export;
mod merge;
mod query;
pub(in crate::cli) mod show;
pub(in crate::cli) mod source;
mod stats;
mod story;
pub(in crate::cli) mod table;
mod tail;
#[cfg(test)]
mod tests;
pub(in crate::cli) mod words;

use std::io;
use std::process::ExitCode;

use clap::{Args, Subcommand};

/// Read what hosts recorded: each failure, its verdict, and what became of it
///
/// A host keeps its journal in its state folder. It can be read while the host runs, and after it has ended.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES, disable_help_subcommand = true)]
pub struct JournalArguments {
    #[command(subcommand)]
    command: JournalCommand,
}

const EXAMPLES: &str = "\
At 3 am:
  reprieve journal stats --since 1h                     what fails, and what becomes of it
  reprieve journal query --outcome dead-lettered        the latest of one outcome
  reprieve journal show 4711                            one message's whole life
  reprieve journal tail -f                              what fails now
Several hosts:
  reprieve journal query --journal host-1/state --journal host-2/state";

#[derive(Debug, Clone, Subcommand)]
enum JournalCommand {
    Tail(tail::TailArguments),
    Query(query::QueryArguments),
    Show(show::ShowArguments),
    Export(export::ExportArguments),
    Stats(stats::StatsArguments),
}

/// Does what the arguments say.
///
/// # Errors
/// No journal can be read, or nothing be written.
pub fn journal(arguments: &JournalArguments) -> anyhow::Result<ExitCode> {
    let done = match &arguments.command {
        JournalCommand::Tail(arguments) => tail::tail(arguments),
        JournalCommand::Query(arguments) => query::query(arguments),
        JournalCommand::Show(arguments) => show::show(arguments),
        JournalCommand::Export(arguments) => export::export(arguments),
        JournalCommand::Stats(arguments) => stats::stats(arguments),
    };
    match done {
        // Whoever read has seen enough, as `head` does.
        Err(error) if is_broken_pipe(&error) => Ok(ExitCode::SUCCESS),
        done => done,
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let io = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        let json = cause.downcast_ref::<serde_json::Error>().and_then(serde_json::Error::io_error_kind);
        io.or(json) == Some(io::ErrorKind::BrokenPipe)
    })
}
