//! Getting `rabbitmq-server` from the system's packages.

use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::apt;

/// The server itself, beneath Debian's wrapper, which insists on the system's user and folders.
pub(super) const SERVER: &str = "/usr/lib/rabbitmq/bin/rabbitmq-server";

/// What asks or tells a running node something.
pub(crate) const CONTROL: &str = "/usr/lib/rabbitmq/bin/rabbitmqctl";

const BY_HAND: &str = "install the package rabbitmq-server (some tests start nodes of their own) and run this again";

/// Installs the package where it is missing and this user may.
pub(crate) fn ensure_installed() -> Result<()> {
    if Path::new(SERVER).exists() {
        return Ok(());
    }
    apt::install(&["rabbitmq-server"])
        .with_context(|| format!("rabbitmq: it cannot be installed, which needs root; {BY_HAND}"))?;
    if !Path::new(SERVER).exists() {
        bail!("rabbitmq: the package was installed, but {SERVER} is not there; {BY_HAND}");
    }
    Ok(())
}
