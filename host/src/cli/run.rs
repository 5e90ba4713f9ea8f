//! `reprieve run`

use clap::{Args, ValueEnum};

use super::ConfigArgument;

/// Take messages and judge failures until told to stop
///
/// Runs every route of the configuration. SIGTERM or Ctrl-C ends it: no new messages are taken, running attempts may
/// end within the shutdown timeout, and the rest goes back to the broker without counting as failed. SIGHUP reads the
/// routes' policies and settings again.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub struct RunArguments {
    /// Which configuration.
    #[command(flatten)]
    pub config: ConfigArgument,

    /// What to log: a level (error, warn, info, debug, trace), or levels by module
    #[arg(long, value_name = "FILTER", default_value = "info")]
    pub log: String,

    /// How log lines are written
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,
}

/// How log lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people
    Text,
    /// One JSON object a line, for machines
    Json,
}

const EXAMPLES: &str = "\
Examples:
  reprieve run                              the file reprieve.toml of this folder
  reprieve run -c /etc/reprieve.toml        another one
  reprieve run --log reprieve=debug         with every decision
  reprieve run --log-format json            for a log collector

Exit codes:
  0  stopped as told
  1  something failed while running
  2  the arguments or the configuration are wrong";
