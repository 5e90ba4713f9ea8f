//! No toolchain that can build policies, and what to install.

use std::fmt;
use std::path::PathBuf;

use crate::{TARGET, path};

/// No toolchain on the `PATH` can build policies. Displayed with what each of them lacks and what to install, in several lines.
#[derive(Debug)]
pub struct NotFound {
    /// Each rustc, and why it will not do.
    pub(crate) looked_at: Vec<(PathBuf, String)>,
}

/// How Debian's Rust gets the library that its packages do not have.
const DEBIAN: [&str; 5] = [
    "apt-get install --no-install-recommends rustc-web cargo-web rust-web-src lld",
    "cd \"$(mktemp -d)\" && PATH=/usr/bin:$PATH && cargo init --lib --vcs none --name empty",
    "RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Cembed-bitcode=yes cargo build --release -Zbuild-std=std,panic_abort --target wasm32-unknown-unknown",
    "mkdir -p /usr/lib/rustlib/wasm32-unknown-unknown/lib",
    "cp target/wasm32-unknown-unknown/release/deps/*.rlib /usr/lib/rustlib/wasm32-unknown-unknown/lib/",
];

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.looked_at.is_empty() {
            write!(f, "policies are built with Rust, and there is no cargo and rustc on the PATH")?;
        } else {
            write!(f, "no Rust on the PATH can build policies:")?;
        }
        for (rustc, lack) in &self.looked_at {
            write!(f, "\n  {}: {lack}", rustc.display())?;
        }
        write!(f, "\n\nWhat to install:\n")?;
        match (path::find(&["rustup"]), self.looked_at.is_empty()) {
            (Some(_), _) => write!(f, "  rustup target add {TARGET}")?,
            (None, true) => write!(f, "  1. Rust, from https://rustup.rs\n  2. rustup target add {TARGET}")?,
            (None, false) => write!(
                f,
                "  your system's package of Rust's standard library for {TARGET},\n  \
                 or Rust from https://rustup.rs, and then: rustup target add {TARGET}"
            )?,
        }
        if path::find(&["apt-get"]).is_some() {
            write!(
                f,
                "\n\nOr, where rustup cannot reach its servers, the Rust of Debian 12; as root, and it takes some two minutes:"
            )?;
            for (index, step) in DEBIAN.iter().enumerate() {
                write!(f, "\n  {}. {step}", index + 1)?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for NotFound {}
