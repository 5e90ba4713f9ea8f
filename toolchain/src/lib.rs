//! A Rust toolchain that can build Reprieve policies for `wasm32-unknown-unknown`: found, never installed.
//!
//! # Layout
//! - [`Toolchain`]: a cargo that can do it, and the environment that it needs
//! - [`NotFound`]: which ones were looked at, what each lacks, and what to install
//! - `candidate`: one cargo and rustc on the `PATH`, and what they can do
//! - `flags`: what makes a policy small, and the same wherever it is built

mod candidate;
mod flags;
mod not_found;
mod path;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fmt};

use candidate::Candidate;
pub use not_found::NotFound;

/// What policies are built for.
pub const TARGET: &str = "wasm32-unknown-unknown";

/// The name of the cargo profile that policies are built with.
pub const PROFILE: &str = "policy";

/// A file that may lie beside a standard library which was built by hand, with what [`built_by`] gives. No other compiler
/// can use such a library, not even the next one that the system's packages bring.
pub const BUILT_BY: &str = "built-by";

/// What [`BUILT_BY`] says of a library that this compiler (its `rustc --version`) can use. Policies are optimised across
/// crates when they are linked, for which the library needs bitcode in it.
#[must_use]
pub fn built_by(compiler: &str) -> String {
    format!("{compiler}, with bitcode")
}

/// Where cargo looks for a linker for [`TARGET`] before its configuration.
const LINKER_VARIABLE: &str = "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER";

/// A cargo that can build policies, and the environment that it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toolchain {
    cargo: PathBuf,
    version: String,
    environment: Vec<(&'static str, OsString)>,
}

impl Toolchain {
    /// The first cargo and rustc on the `PATH` that can build policies in this folder (rustup's choose their version by the
    /// folder that they run in). Runs them; takes a tenth of a second or two.
    ///
    /// # Errors
    /// There is none, and what to install.
    pub fn find(folder: &Path) -> Result<Self, NotFound> {
        let candidates = Candidate::all();
        let mut linkers = Vec::new();
        let mut looked_at = Vec::new();
        for candidate in &candidates {
            let lack = match candidate.examine(folder) {
                Err(reason) => reason,
                Ok(found) if !found.has_library => {
                    // Its linker may serve another.
                    linkers.extend(found.linker);
                    format!("{} has no {TARGET}", found.version)
                }
                Ok(found) => {
                    let own_linker = found.linker.is_some() || env::var_os(LINKER_VARIABLE).is_some();
                    let foreign_linker = || linkers.first().cloned().or_else(|| path::find(&["rust-lld", "lld"]));
                    let linker = if own_linker { None } else { foreign_linker() };
                    if own_linker || linker.is_some() {
                        let mut environment = candidate.environment();
                        environment.extend(linker.map(|linker| (LINKER_VARIABLE, linker.into())));
                        return Ok(Self { cargo: candidate.cargo.clone(), version: found.version, environment });
                    }
                    format!("{} has {TARGET} but no linker for it: install the package lld", found.version)
                }
            };
            looked_at.push((candidate.rustc.clone(), lack));
        }
        Err(NotFound { looked_at })
    }

    /// A cargo command, to which a subcommand is to be added.
    #[must_use]
    pub fn cargo(&self) -> Command {
        let mut command = Command::new(&self.cargo);
        // Where cargo itself started this program, these speak of the toolchain that built it; and flags that somebody
        // has for this machine's processor and linker are wrong for WebAssembly.
        for inherited in ["CARGO", "RUSTC", "RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS"] {
            command.env_remove(inherited);
        }
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    /// `cargo rustc` of one policy's library, with the profile [`PROFILE`] and flags that make it small and keep this
    /// machine's folders out of it. The workspace's own flags for the target hold as well.
    #[must_use]
    pub fn build(&self) -> Command {
        let mut command = self.cargo();
        // Beside an `rlib`, which a policy is for its tests, a `cdylib` would go without link-time optimisation.
        command.args(["rustc", "--lib", "--crate-type", "cdylib"]);
        command.args(["--target", TARGET, "--profile", PROFILE, "--config", &flags::rustflags()]);
        command
    }

    /// What makes [`PROFILE`] out of `release`, as arguments for [`build`](Self::build). Not for a workspace that has a
    /// profile of this name: its own would be overruled.
    #[must_use]
    pub fn profile_arguments() -> Vec<String> {
        flags::profile()
    }
}

impl fmt::Display for Toolchain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.cargo.display(), self.version)
    }
}
