//! A folder to run the program in.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use reprieve::policy::embedded;
use tempfile::TempDir;

use crate::program::Program;

/// The route that every host here has beside the one with the trouble. Its handler keeps what it is given.
const WITNESS: &str = r#"
[brokers.local]
kind = "memory"

[[routes]]
name = "mails"
broker = "local"
source = "mails"
handler = { kind = "command", program = ["sh", "-c", "cat >> handled; echo >> handled"] }
dead_letters = { default = "mails.dlq" }
"#;

/// A configuration in a folder of its own, which the program runs in, so that messages name files without the folder.
pub(crate) struct Place(TempDir);

impl Place {
    /// With these routes and brokers, and beside them a memory broker `local` with the route `mails`.
    pub(crate) fn new(routes: &str) -> Self {
        let place = Self::bare("");
        place.configure(routes);
        place
    }

    /// With nothing but this configuration, and an empty policies folder.
    pub(crate) fn bare(config: &str) -> Self {
        let place = Self(tempfile::tempdir().expect("a new folder"));
        fs::create_dir(place.path("policies")).expect("a folder for policies");
        place.write("reprieve.toml", config);
        place
    }

    /// Takes other routes and brokers.
    pub(crate) fn configure(&self, routes: &str) {
        let head = "[host]\nadmin = \"127.0.0.1:0\"\ntiers = []\n\n[policies]\nfolder = \"policies\"\n";
        self.write("reprieve.toml", format!("{head}{routes}{WITNESS}"));
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).expect("a written file");
    }

    /// Puts a policy into the folder as an operator should: under another name, then renamed into place.
    pub(crate) fn install(&self, policy: &str, bytes: impl AsRef<[u8]>) {
        self.write("policies/new.tmp", bytes);
        fs::rename(self.path("policies/new.tmp"), self.path(&format!("policies/{policy}.wasm")))
            .expect("a renamed file");
    }

    /// What the witness's handler was given, in order.
    pub(crate) fn handled(&self) -> Vec<String> {
        let handled = fs::read_to_string(self.path("handled")).unwrap_or_default();
        handled.lines().map(str::to_owned).collect()
    }

    /// Starts a host and waits until its admin listener answers.
    pub(crate) fn run(&self) -> Program {
        Program::start(self.command(&["run", "-c", "reprieve.toml"]))
    }

    /// Runs the program to its end: its exit code, what it printed, and what it complained of.
    pub(crate) fn call(&self, arguments: &[&str]) -> (Option<i32>, String, String) {
        let Output { status, stdout, stderr } = self.command(arguments).output().expect("the program can be started");
        let text = |bytes| String::from_utf8(bytes).expect("the program prints UTF-8");
        (status.code(), text(stdout), text(stderr))
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(program());
        command.args(arguments).current_dir(self.0.path()).stdin(Stdio::null());
        command
    }
}

/// The program that was built beside this test.
fn program() -> PathBuf {
    let here = std::env::current_exe().expect("the test's own path");
    let built = here.ancestors().nth(2).unwrap_or(Path::new("")).join("reprieve");
    assert!(built.exists(), "{} is not there: run `cargo build -p reprieve` first", built.display());
    built
}

/// Files that are no policies, each with the name of the policy that it poses as.
pub(crate) fn bad_files() -> Vec<(&'static str, Vec<u8>)> {
    let whole = embedded::STANDARD;
    vec![
        ("empty", Vec::new()),
        ("text", b"#!/bin/sh\necho not a policy\n".to_vec()),
        ("truncated", whole[..50_000].to_vec()),
        ("huge", vec![0; 16 * 1024 * 1024 + 1]),
        ("wrong-world", of_another_version(whole)),
        ("wasi", importing_wasi()),
    ]
}

/// The same policy, as if it were built for the next version of the interface.
fn of_another_version(policy: &[u8]) -> Vec<u8> {
    let (from, to) = (b"@0.1.0", b"@0.2.0");
    let mut bytes = policy.to_vec();
    while let Some(at) = bytes.windows(from.len()).position(|window| window == from) {
        bytes[at..at + to.len()].copy_from_slice(to);
    }
    assert_ne!(bytes, policy, "the policy names its interface");
    bytes
}

/// A module that imports `wasi_snapshot_preview1.proc_exit`, as one that is built for a WASI target does.
fn importing_wasi() -> Vec<u8> {
    const HEAD: &[u8] = b"\0asm\x01\0\0\0";
    /// One type: a function that takes and gives nothing.
    const TYPES: &[u8] = b"\x01\x04\x01\x60\0\0";
    /// One import, of that type; 36 bytes.
    const IMPORTS: &[u8] = b"\x02\x24\x01\x16wasi_snapshot_preview1\x09proc_exit\0\0";
    [HEAD, TYPES, IMPORTS].concat()
}
