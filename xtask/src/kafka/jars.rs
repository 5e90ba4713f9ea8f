//! Kafka's jars, which Maven brings to `target/kafka/jars` as `tests/kafka-node/pom.xml` has them.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};
use reprieve_kafka_node::folder;

use crate::{apt, workspace};

/// Brings the jars where they are not there yet, or are not those of the file any more. Else nothing is asked of the network.
///
/// # Errors
/// There is no Maven and none can be installed, or it cannot bring them.
pub(crate) fn ensure() -> Result<()> {
    let pom = workspace::root().join("tests/kafka-node/pom.xml");
    let wanted = fs::read(&pom).with_context(|| format!("kafka: cannot read {}", pom.display()))?;
    let jars = folder().join("jars");
    // Written last of all, so it vouches for the rest.
    let brought = folder().join("brought.xml");
    if jars.is_dir() && fs::read(&brought).is_ok_and(|present| present == wanted) {
        return Ok(());
    }
    eprintln!("kafka: Maven brings the jars to {}", jars.display());
    match fs::remove_dir_all(&jars) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(error).with_context(|| format!("kafka: cannot remove {}", jars.display()));
        }
        _ => {}
    }
    ensure_maven()?;
    workspace::run(&mut copy_dependencies(&pom, &jars)).context("kafka: Maven cannot bring its jars")?;
    fs::write(&brought, wanted).with_context(|| format!("kafka: cannot write {}", brought.display()))
}

fn copy_dependencies(pom: &Path, jars: &Path) -> Command {
    let mut maven = Command::new("mvn");
    maven.args(["--batch-mode", "--quiet", "--strict-checksums", "--file"]).arg(pom);
    maven.args(["dependency:copy-dependencies", "-DincludeScope=runtime"]);
    maven.arg(format!("-DoutputDirectory={}", jars.display()));
    maven
}

fn ensure_maven() -> Result<()> {
    let ask = || workspace::output(Command::new("mvn").arg("--version")).map(drop);
    ask()
        .or_else(|_| apt::install(&["maven"]).and_then(|()| ask()))
        .context("kafka: Maven brings its jars; on Debian, as root: apt-get install maven")
}
