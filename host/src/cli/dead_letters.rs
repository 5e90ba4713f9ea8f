//! `reprieve dead-letters …`: looking at dead letters, and putting them back.

mod peek;
mod place;
mod rate;
mod redrive;
mod view;

use std::process::ExitCode;

pub(in crate::cli) use view::excerpt;

use clap::{Args, Subcommand};

/// Look at dead letters, and put them back on their origin
///
/// A dead letter is a message that a host parked with the story of its failure in its headers. `peek` shows that story and
/// leaves the letters where they are; `redrive` puts them back on the queue that they failed on, with their counts reset.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES, disable_help_subcommand = true)]
pub struct DeadLettersArguments {
    #[command(subcommand)]
    command: DeadLettersCommand,
}

const EXAMPLES: &str = "\
Once the handler is mended:
  reprieve dead-letters peek                               what is there, and why
  reprieve dead-letters redrive --dry-run                  what would go where
  reprieve dead-letters redrive --max 1                    try one
  reprieve dead-letters redrive --error-kind http-503      then the others of its kind";

#[derive(Debug, Clone, Subcommand)]
enum DeadLettersCommand {
    Peek(peek::PeekArguments),
    Redrive(redrive::RedriveArguments),
}

/// Does what the arguments say.
///
/// # Errors
/// Those of the command.
pub fn dead_letters(arguments: &DeadLettersArguments) -> anyhow::Result<ExitCode> {
    // What the broker's driver warns of must be seen; the AMQP client logs as errors what is asked on purpose.
    let lines = tracing_subscriber::fmt().with_env_filter("warn,lapin=off").with_writer(std::io::stderr);
    let _ = lines.without_time().try_init();
    match &arguments.command {
        DeadLettersCommand::Peek(arguments) => peek::peek(arguments),
        DeadLettersCommand::Redrive(arguments) => redrive::redrive(arguments),
    }
}
