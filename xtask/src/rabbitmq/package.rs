//! Getting `rabbitmq-server` from the system's packages.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// The server itself, beneath Debian's wrapper, which insists on the system's user and folders.
pub(super) const SERVER: &str = "/usr/lib/rabbitmq/bin/rabbitmq-server";

const BY_HAND: &str = "start a RabbitMQ that answers on 127.0.0.1:5672 (a container will do) and run this again";

/// Installs the package where it is missing and this user may.
pub(super) fn ensure_installed() -> Result<()> {
    if Path::new(SERVER).exists() {
        return Ok(());
    }
    eprintln!("rabbitmq: not installed; asking apt-get for rabbitmq-server");
    apt(&["update", "--quiet"])?;
    apt(&["install", "--yes", "--quiet", "--no-install-recommends", "rabbitmq-server"])?;
    if !Path::new(SERVER).exists() {
        bail!("rabbitmq: the package was installed, but {SERVER} is not there; {BY_HAND}");
    }
    Ok(())
}

fn apt(arguments: &[&str]) -> Result<()> {
    let status = Command::new("apt-get")
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .status()
        .with_context(|| format!("rabbitmq: none answers here and apt-get cannot be run; {BY_HAND}"))?;
    if !status.success() {
        bail!("rabbitmq: apt-get {} failed ({status}; it needs root); {BY_HAND}", arguments.join(" "));
    }
    Ok(())
}
