//! A folder to run the program in.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use tempfile::TempDir;

use crate::program::Program;

/// One route on a broker in memory.
pub(crate) const ROUTE: &str = r#"
[brokers.local]
kind = "memory"

[[routes]]
name = "orders"
broker = "local"
source = "orders"
handler = { kind = "command", program = ["true"] }
dead_letters = { default = "orders.dlq" }
"#;

/// A configuration in a folder of its own, which the program runs in.
pub(crate) struct Place(Arc<TempDir>);

impl Place {
    /// With these lines under `[host]`, and the rest as it is.
    pub(crate) fn new(host: &str, rest: &str) -> Self {
        let place = Self(Arc::new(tempfile::tempdir().expect("a new folder")));
        let admin = if host.contains("admin =") { "" } else { "admin = \"127.0.0.1:0\"\n" };
        place.write("reprieve.toml", format!("[host]\n{admin}tiers = []\n{host}\n{rest}"));
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).expect("a written file");
    }

    /// The program with these arguments and variables.
    pub(crate) fn command(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Command {
        let mut command = Command::new(program());
        command.args(arguments).envs(variables.iter().copied()).current_dir(self.0.path()).stdin(Stdio::null());
        command
    }

    /// Starts a host, and waits until its admin listener answers.
    pub(crate) fn run(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Program {
        let arguments = [&["run", "--log-format", "json"], arguments].concat();
        Program::start(self.command(&arguments, variables), Arc::clone(&self.0))
    }

    /// Runs the program to its end: its exit code, and all that it printed.
    pub(crate) fn call(&self, arguments: &[&str], variables: &[(&str, &str)]) -> (Option<i32>, String) {
        let Output { status, stdout, stderr } =
            self.command(arguments, variables).output().expect("the program can be started");
        let text = |bytes| String::from_utf8(bytes).expect("the program prints UTF-8");
        (status.code(), text(stdout) + &text(stderr))
    }
}

/// The program that was built beside this test.
pub(crate) fn program() -> PathBuf {
    let here = std::env::current_exe().expect("the test's own path");
    let built = here.ancestors().nth(2).unwrap_or(Path::new("")).join("reprieve");
    assert!(built.exists(), "{} is not there: run `cargo build -p reprieve` first", built.display());
    built
}
