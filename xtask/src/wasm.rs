//! Sets up a toolchain that builds policies, where none is found.
//!
//! Where rustup has the target or can fetch it, that is the workspace's own toolchain. Elsewhere it is
//! Debian's, which brings no wasm32 library but that library's source, so the library is built once.

mod build;
mod debian;

use std::process::Command;

use anyhow::Result;
use reprieve_toolchain::{TARGET, Toolchain};

pub(crate) use build::{build, build_alone, build_examples};

use crate::workspace;

/// Finds a toolchain that builds policies, or sets one up and says what it does. Quick where nothing
/// is missing.
///
/// # Errors
/// Where neither rustup nor Debian's packages help; the message says what to install by hand.
pub(crate) fn toolchain() -> Result<Toolchain> {
    if let Ok(found) = Toolchain::find(workspace::root()) {
        return Ok(found);
    }
    println!("wasm32: the target is missing; asking rustup for it");
    let mut rustup = Command::new("rustup");
    rustup.args(["target", "add", TARGET]).current_dir(workspace::root());
    match workspace::run(rustup.env("RUSTUP_MAX_RETRIES", "0").env("RUST_BACKTRACE", "0")) {
        Ok(()) => match Toolchain::find(workspace::root()) {
            Ok(found) => return Ok(found),
            Err(_) => println!("wasm32: rustup added the target to another toolchain than the one in use"),
        },
        Err(error) => println!("wasm32: rustup cannot ({error})"),
    }
    debian::set_up()?;
    Ok(Toolchain::find(workspace::root())?)
}
