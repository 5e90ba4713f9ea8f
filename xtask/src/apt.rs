//! Debian's packages, for what is needed and the machine lacks.

use std::process::Command;

use anyhow::Result;

use crate::workspace;

/// Installs these packages, with fresh package lists where those at hand do not do.
///
/// # Errors
/// Where there is no apt-get, this user may not install, or there is no such package.
pub(crate) fn install(packages: &[&str]) -> Result<()> {
    eprintln!("apt-get: installing {}", packages.join(" "));
    let install = || {
        let arguments = ["install", "--yes", "--quiet", "--no-install-recommends"];
        workspace::run(apt_get().args(arguments).args(packages))
    };
    install().or_else(|_| {
        eprintln!("apt-get: trying once more with fresh package lists");
        workspace::run(apt_get().args(["update", "--quiet"]))?;
        install()
    })
}

fn apt_get() -> Command {
    let mut command = Command::new("apt-get");
    command.env("DEBIAN_FRONTEND", "noninteractive");
    command
}
