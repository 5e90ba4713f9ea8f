//! What building needs beside Rust: librdkafka is made from its source, with the system's OpenSSL and zlib.

use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::apt;

/// A program or library that building needs: how it is asked for, and Debian's package for it.
struct Need {
    ask: &'static [&'static str],
    package: &'static str,
}

const NEEDS: &[Need] = &[
    Need { ask: &["make", "--version"], package: "make" },
    Need { ask: &["cc", "--version"], package: "gcc" },
    Need { ask: &["c++", "--version"], package: "g++" },
    Need { ask: &["pkg-config", "--exists", "openssl"], package: "libssl-dev" },
    Need { ask: &["pkg-config", "--exists", "zlib"], package: "zlib1g-dev" },
];

/// Sees to it that everything is there. Quick where nothing is missing.
///
/// # Errors
/// Something is missing and cannot be installed; the text says what to install by hand.
pub(crate) fn ensure() -> Result<()> {
    let packages = missing();
    if packages.is_empty() {
        return Ok(());
    }
    let by_hand = format!(
        "building needs make, C and C++ compilers, pkg-config, and the headers of OpenSSL and zlib; \
         on Debian, as root: apt-get install {}",
        packages.join(" ")
    );
    apt::install(&packages).with_context(|| by_hand.clone())?;
    let still = missing();
    if !still.is_empty() {
        bail!("{} did not help to find what they are for; {by_hand}", still.join(", "));
    }
    Ok(())
}

/// The packages of what does not answer.
fn missing() -> Vec<&'static str> {
    let mut packages: Vec<&str> = NEEDS.iter().filter(|need| !answers(need.ask)).map(|need| need.package).collect();
    // Without it, it cannot be told which of the libraries are there.
    if !answers(&["pkg-config", "--version"]) {
        packages.push("pkg-config");
    }
    packages
}

fn answers(ask: &[&str]) -> bool {
    let [program, arguments @ ..] = ask else { return false };
    let asked =
        Command::new(program).args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    asked.is_ok_and(|status| status.success())
}
