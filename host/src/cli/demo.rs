//! `reprieve demo`

use clap::Args;

/// Show what Reprieve does, with nothing else installed
///
/// Sends messages through a broker in memory to a handler that fails in five different ways, shows what becomes of
/// each, and swaps the policy half-way without a pause. Ends with a count: what was consumed, what became of it, and
/// how many were lost, as the sender and the receiver saw it.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub struct DemoArguments {
    /// Print only the counts, as one JSON object
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

/// To be written.
pub fn demo(_: &DemoArguments) -> anyhow::Result<std::process::ExitCode> {
    anyhow::bail!("not written yet")
}
