//! A folder outside of the repository, and the programs that are run in it.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::{env, fs};

use tempfile::TempDir;

/// Where the SDK is in the repository.
pub(crate) const SDK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../plugin-sdk");

/// A folder to work in.
pub(crate) struct Folder(TempDir);

/// What a program said.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a new folder"))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub(crate) fn write(&self, name: &str, content: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("a folder for it");
        fs::write(path, content).expect("a written file");
    }

    /// A crate that `policy new` makes, with the SDK of this repository.
    pub(crate) fn with_policy(name: &str) -> Self {
        let folder = Self::new();
        folder.reprieve("", &["policy", "new", name, "--sdk-path", SDK]).succeeded();
        folder
    }

    /// Runs the program in a folder of this one.
    pub(crate) fn reprieve(&self, within: &str, arguments: &[&str]) -> Said {
        self.run(Command::new(program()).args(arguments), within)
    }

    /// Runs the program with another `PATH`.
    pub(crate) fn reprieve_with_path(&self, path: impl AsRef<OsStr>, within: &str, arguments: &[&str]) -> Said {
        self.run(Command::new(program()).args(arguments).env("PATH", path), within)
    }

    /// Runs cargo in a folder of this one.
    pub(crate) fn cargo(&self, within: &str, arguments: &[&str]) -> Said {
        self.run(Command::new("cargo").args(arguments), within)
    }

    fn run(&self, command: &mut Command, within: &str) -> Said {
        command.current_dir(self.path(within)).stdin(Stdio::null());
        // Dependencies are compiled once for all tests and all their runs. They were fetched for the workspace.
        command.env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("toolkit"));
        command.env("CARGO_NET_OFFLINE", "true");
        // What cargo has set for this test is not set for somebody who starts the program.
        for name in env::vars_os().map(|(name, _)| name).filter(is_cargos_own) {
            command.env_remove(name);
        }
        let Output { status, stdout, stderr } = command.output().expect("a program that can be started");
        let text = |bytes| self.without_paths(&String::from_utf8(bytes).expect("programs print UTF-8"));
        Said { code: status.code(), out: text(stdout), err: text(stderr) }
    }

    fn without_paths(&self, text: &str) -> String {
        let real = self.0.path().canonicalize().expect("a folder that is there");
        text.replace(&real.display().to_string(), "[folder]").replace(&self.0.path().display().to_string(), "[folder]")
    }
}

fn is_cargos_own(name: &OsString) -> bool {
    name.to_str()
        .is_some_and(|name| name == "CARGO" || name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST"))
}

impl Said {
    /// What it printed, having done what it was asked.
    pub(crate) fn succeeded(self) -> String {
        assert_eq!(self.code, Some(0), "{}\n{}", self.out, self.err);
        self.out
    }

    /// What it complained of, having ended with this code and printed nothing else.
    pub(crate) fn failed(self, code: i32) -> String {
        assert_eq!((self.code, self.out.as_str()), (Some(code), ""), "{}", self.err);
        assert!(!self.err.contains("panicked"), "{}", self.err);
        self.err
    }
}

/// The program that was built beside this test.
fn program() -> PathBuf {
    let here = env::current_exe().expect("the test's own path");
    let built = here.ancestors().nth(2).unwrap_or(Path::new("")).join("reprieve");
    assert!(built.exists(), "{} is not there: run `cargo build -p reprieve` first", built.display());
    built
}
