//! What is logged, and how a line looks.

use std::io::IsTerminal as _;

use anyhow::Context as _;
use clap::ValueEnum;
use tracing_subscriber::EnvFilter;

/// What logs every frame, the broker's password among them.
const TELLS_PASSWORDS: &str = "lapin::io_loop";

const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// How log lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people
    Text,
    /// One JSON object a line, for machines
    Json,
}

/// A filter as it may stand on the command line. A word that is no level would be taken for a module's name, and switch
/// off everything else.
pub(super) fn parse_filter(text: &str) -> Result<String, String> {
    if text.contains(TELLS_PASSWORDS) {
        return Err(format!("{TELLS_PASSWORDS} would log passwords; leave it out, lapin=trace has the rest"));
    }
    // What selects by spans and fields has commas and signs of its own; the filter's own parser knows them.
    if !text.contains('[') {
        for directive in text.split(',') {
            let level = directive.rsplit('=').next().unwrap_or_default().trim();
            if !LEVELS.contains(&level.to_ascii_lowercase().as_str()) {
                return Err(format!(
                    "{level:?} is no level; write {}, or levels by module, such as info,reprieve=debug",
                    LEVELS.join(", ")
                ));
            }
        }
    }
    EnvFilter::try_new(text).map(|_| text.to_owned()).map_err(|error| error.to_string())
}

/// Starts to log, on standard error.
pub(super) fn start(filter: &str, format: LogFormat) -> anyhow::Result<()> {
    // The AMQP client logs whole messages, and as errors what the host asks on purpose. Last wins, so it can be asked for,
    // but for what must not be.
    let filter = format!("lapin=off,{filter},{TELLS_PASSWORDS}=off");
    let filter = EnvFilter::try_new(filter).context("--log cannot be used")?;
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match format {
        LogFormat::Text => lines.with_ansi(std::io::stderr().is_terminal()).init(),
        LogFormat::Json => lines.json().flatten_event(true).init(),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_is_a_level_or_levels_by_module() {
        for right in ["info", "DEBUG", "off", "warn,reprieve=debug", "info,lapin=trace", "info,reprieve[{id=7}]=trace"]
        {
            assert_eq!(parse_filter(right).as_deref(), Ok(right));
        }
    }

    #[test]
    fn a_word_that_is_no_level_is_answered_with_those_that_are() {
        for wrong in ["loud", "", "info,", "reprieve=loud", "reprieve", "info,reprieve"] {
            let text = parse_filter(wrong).unwrap_err();
            assert!(text.contains("off, error, warn, info, debug, trace"), "{text}");
        }
        assert!(parse_filter("lapin::io_loop[{a=1}]=trace").unwrap_err().contains("passwords"));
    }
}
