//! A Java that Kafka runs on.

use std::process::Command;

use anyhow::{Context as _, Result, bail};
use reprieve_kafka_node::java;

use crate::apt;

/// The oldest that Kafka 4 runs on.
const OLDEST: u32 = 17;

/// Finds one, or installs Debian's.
///
/// # Errors
/// There is none that is new enough, and none can be installed.
pub(crate) fn ensure() -> Result<()> {
    if is_new_enough() {
        return Ok(());
    }
    let by_hand =
        || format!("kafka: it needs Java {OLDEST} or newer, in JAVA_HOME or as java on the path; install one");
    // A release of Debian has one or two, and the default one may be older or newer than the one by number.
    for package in ["default-jre-headless", "openjdk-17-jre-headless", "openjdk-21-jre-headless"] {
        if apt::install(&[package]).is_ok() && is_new_enough() {
            return Ok(());
        }
    }
    bail!(by_hand())
}

fn is_new_enough() -> bool {
    version().is_ok_and(|version| version >= OLDEST)
}

fn version() -> Result<u32> {
    let output = Command::new(java()).arg("-version").output().context("cannot start java")?;
    parse(&String::from_utf8_lossy(&output.stderr)).context("java does not say its version")
}

/// From such as `openjdk version "17.0.15" 2025-04-15`.
fn parse(text: &str) -> Option<u32> {
    let version = text.split('"').nth(1)?;
    version.split(['.', '-', '+']).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_read_in_every_form_that_java_prints_it_in() {
        assert_eq!(parse("openjdk version \"17.0.15\" 2025-04-15\nOpenJDK Runtime Environment"), Some(17));
        assert_eq!(parse("openjdk version \"21\" 2023-09-19"), Some(21));
        assert_eq!(parse("openjdk version \"25-ea\" 2025-09-16"), Some(25));
        assert_eq!(parse("java version \"1.8.0_392\""), Some(1), "an old one, under its old name");
        assert_eq!(parse("Picked up JAVA_TOOL_OPTIONS"), None);
    }
}
