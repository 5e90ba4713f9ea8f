//! A copy of the working tree to break. It shares the target folder, so that dependencies are not built again; suites
//! build libraries and tests only, never the program that other tests run.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use crate::workspace;

pub(super) struct Tree {
    folder: PathBuf,
    environment: Vec<(String, String)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Green,
    Red,
    Hangs,
    DoesNotBuild,
}

impl Tree {
    /// Copies what git knows of, and what it would add.
    pub(super) fn copy(folder: &Path) -> Result<Self> {
        if folder.exists() {
            fs::remove_dir_all(folder).with_context(|| format!("cannot clear {}", folder.display()))?;
        }
        let root = workspace::root();
        let mut list = Command::new("git");
        list.args(["ls-files", "--cached", "--others", "--exclude-standard"]).current_dir(root);
        for name in workspace::output(&mut list)?.lines() {
            let (from, to) = (root.join(name), folder.join(name));
            if !from.exists() {
                continue;
            }
            fs::create_dir_all(to.parent().context("a listed file is in a folder")?)?;
            fs::copy(&from, &to).with_context(|| format!("cannot copy {}", from.display()))?;
        }
        Ok(Self { folder: folder.to_owned(), environment: Vec::new() })
    }

    pub(super) fn environment(&mut self, name: &str, value: String) {
        self.environment.push((name.to_owned(), value));
    }

    pub(super) fn apply(&self, patch: &Path) -> Result<()> {
        workspace::run(self.git_apply().arg(patch)).with_context(|| format!("{} does not apply", patch.display()))
    }

    pub(super) fn restore(&self, patch: &Path) -> Result<()> {
        workspace::run(self.git_apply().arg("--reverse").arg(patch))
    }

    fn git_apply(&self) -> Command {
        let mut git = Command::new("git");
        // Or git would take the folder for a part of the repository around it, and pass the patch over.
        git.arg("apply").current_dir(&self.folder).env("GIT_CEILING_DIRECTORIES", workspace::root().join("target"));
        git
    }

    pub(super) fn test(&self, suite: &[String], longest: Duration) -> Result<Outcome> {
        let built = self.cargo_test(suite).arg("--no-run").status().context("cannot start cargo")?;
        if !built.success() {
            return Ok(Outcome::DoesNotBuild);
        }
        // A group of its own: what hangs is the test, not cargo.
        let mut child = self.cargo_test(suite).process_group(0).spawn().context("cannot start cargo")?;
        let begin = Instant::now();
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(if status.success() { Outcome::Green } else { Outcome::Red });
            }
            if begin.elapsed() > longest {
                workspace::run(Command::new("kill").args(["-KILL", "--", &format!("-{}", child.id())]))?;
                child.wait()?;
                return Ok(Outcome::Hangs);
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn cargo_test(&self, suite: &[String]) -> Command {
        let mut cargo = workspace::cargo();
        // The filter of a suite stands behind its arguments, where cargo takes it for the tests' names.
        cargo.args(["test", "--quiet"]).args(suite).current_dir(&self.folder);
        cargo.env("CARGO_TARGET_DIR", workspace::root().join("target"));
        cargo.env("RUST_BACKTRACE", "0").env("PROPTEST_FAILURE_PERSISTENCE", "off");
        cargo.envs(self.environment.iter().map(|(name, value)| (name, value)));
        cargo.stdout(Stdio::null()).stderr(Stdio::null());
        cargo
    }
}
