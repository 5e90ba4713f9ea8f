//! The Java that runs Kafka, and Kafka's jars.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

/// The variable that names the folder of Kafka's jars, where it is not `target/kafka/jars`.
pub const JARS_VARIABLE: &str = "REPRIEVE_TEST_KAFKA_JARS";

/// A small heap, and a start that is quick rather than a machine that is fast.
const MACHINE: [&str; 4] = ["-Xms64m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"];
/// All settings and their defaults, several times over, are more than the rest of the log.
const LOGGING: [&str; 3] = [
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd'T'HH:mm:ss.SSSXXX",
    "-Dorg.slf4j.simpleLogger.log.org.apache.kafka.common.config=warn",
];

/// The Java of `JAVA_HOME`, or else the one on the path.
#[must_use]
pub fn java() -> PathBuf {
    let home = env::var_os("JAVA_HOME").filter(|home| !home.is_empty());
    home.map_or_else(|| "java".into(), |home| PathBuf::from(home).join("bin/java"))
}

/// Java, to run a class of Kafka's.
pub(crate) fn kafka(class: &str) -> Result<Command> {
    let jars = env::var_os(JARS_VARIABLE).map_or_else(|| crate::folder().join("jars"), PathBuf::from);
    let jars = jars.canonicalize().with_context(|| {
        format!("kafka: its jars are not in {}: run `cargo xtask kafka`, which brings them there", jars.display())
    })?;
    let mut class_path = OsString::from(jars);
    class_path.push("/*");
    let mut command = Command::new(java());
    command.args(MACHINE).args(LOGGING).arg("-cp").arg(class_path).arg(class);
    Ok(command)
}

/// Runs a command-line tool of Kafka's to its end.
pub(crate) fn run(class: &str, arguments: &[&str]) -> Result<()> {
    let output = kafka(class)?.args(arguments).output().context("kafka: cannot start java")?;
    let said = [output.stdout, output.stderr].concat();
    ensure!(output.status.success(), "kafka: {class} {arguments:?} failed: {}", String::from_utf8_lossy(&said).trim());
    Ok(())
}
