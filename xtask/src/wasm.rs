//! A toolchain that builds policies for wasm32-unknown-unknown.
//!
//! Where rustup has the target or can fetch it, that is the workspace's own toolchain. Elsewhere it is
//! Debian's, which brings no wasm32 library but that library's source, so the library is built once.

mod build;
mod debian;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fmt, fs};

use anyhow::Result;

pub(crate) use build::{build, build_alone, cargo_build};

use crate::workspace;

pub(crate) const TARGET: &str = "wasm32-unknown-unknown";

/// A cargo that can build for wasm32, and the environment that it needs.
#[derive(Debug)]
pub(crate) struct WasmToolchain {
    name: &'static str,
    cargo: PathBuf,
    environment: Vec<(&'static str, OsString)>,
}

impl WasmToolchain {
    /// A cargo command in the workspace's root, to which a subcommand and `--target` are to be added.
    pub(crate) fn cargo(&self) -> Command {
        let mut command = Command::new(&self.cargo);
        command.current_dir(workspace::root());
        // What `cargo xtask` set for itself speaks of another toolchain, and a policy's bytes must not
        // depend on flags that the caller happens to have.
        for inherited in ["CARGO", "RUSTC", "RUSTUP_TOOLCHAIN", "RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS"] {
            command.env_remove(inherited);
        }
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }
}

impl fmt::Display for WasmToolchain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.cargo.display())
    }
}

/// Finds a toolchain that builds for wasm32, or sets one up and says what it does. Quick where nothing
/// is missing.
///
/// # Errors
/// Where neither rustup nor Debian's packages help; the message says what to install by hand.
pub(crate) fn toolchain() -> Result<WasmToolchain> {
    if rustup_has_target() {
        return Ok(rustup());
    }
    if debian::is_ready() {
        return debian::toolchain();
    }
    println!("wasm32: the target is missing; asking rustup for it");
    match workspace::run(
        Command::new("rustup")
            .args(["target", "add", TARGET])
            .env("RUSTUP_MAX_RETRIES", "0")
            .env("RUST_BACKTRACE", "0"),
    ) {
        Ok(()) if rustup_has_target() => return Ok(rustup()),
        Ok(()) => println!("wasm32: rustup added the target to another toolchain than the one in use"),
        Err(error) => println!("wasm32: rustup cannot ({error})"),
    }
    debian::set_up()?;
    debian::toolchain()
}

fn rustup() -> WasmToolchain {
    // Set by cargo for what it runs.
    let cargo = env::var_os("CARGO").map_or_else(|| PathBuf::from("cargo"), PathBuf::from);
    let rustc = cargo.with_file_name("rustc");
    WasmToolchain { name: "the workspace's own toolchain", cargo, environment: vec![("RUSTC", rustc.into())] }
}

fn rustup_has_target() -> bool {
    let library = workspace::output(Command::new("rustc").args(["--print", "target-libdir", "--target", TARGET]));
    library.is_ok_and(|folder| has_core(Path::new(&folder)))
}

/// Whether a folder holds a compiled `core`.
fn has_core(library: &Path) -> bool {
    fs::read_dir(library).is_ok_and(|entries| {
        entries.flatten().any(|entry| {
            let name = entry.file_name();
            name.to_string_lossy().starts_with("libcore-") && name.to_string_lossy().ends_with(".rlib")
        })
    })
}
