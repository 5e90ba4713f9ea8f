//! systemd's own check of unit files, which a test asks.

use std::process::Command;

use anyhow::{Context as _, Result};

use crate::{apt, workspace};

/// Sees to it that `systemd-analyze` can be started; systemd itself need not run.
///
/// # Errors
/// It is missing and cannot be installed.
pub(crate) fn ensure() -> Result<()> {
    let ask = || workspace::output(Command::new("systemd-analyze").arg("--version")).map(drop);
    ask()
        .or_else(|_| apt::install(&["systemd"]).and_then(|()| ask()))
        .context("systemd: the tests need systemd-analyze; on Debian, as root: apt-get install systemd")
}
