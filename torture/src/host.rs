//! One host: the `reprieve` program, with a configuration, state and policies of its own.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use nix::sys::signal::Signal;
use tokio::time::timeout;

use crate::broker::Terms;
use crate::policies::Policy;
use crate::process::Process;

/// Deliveries that one host has in work at a time.
pub(crate) const SLOTS: usize = 16;
/// Longer than an attempt, so that a drain cuts none off.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(15);
/// What a host may need beyond that, on a busy machine.
const GRACE: Duration = Duration::from_secs(20);

/// Where a host finds its peers.
#[derive(Debug, Clone)]
pub(crate) struct Peers {
    pub(crate) terms: Terms,
    pub(crate) handler: String,
}

/// A host, whether or not its process runs.
pub(crate) struct Host {
    program: PathBuf,
    folder: PathBuf,
    peers: Peers,
    process: Option<Process>,
}

impl Host {
    /// Writes its folder; starts nothing.
    pub(crate) fn new(program: PathBuf, folder: PathBuf, peers: Peers, policy: &Policy, file: &Path) -> Result<Self> {
        let policies = folder.join("policies");
        fs::create_dir_all(&policies).with_context(|| format!("cannot make {}", policies.display()))?;
        let host = Self { program, folder, peers, process: None };
        host.install(policy, file)?;
        Ok(host)
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.folder.join("host.log")
    }

    pub(crate) fn start(&mut self) -> Result<()> {
        let log = self.log();
        let output = fs::OpenOptions::new().create(true).append(true).open(&log);
        let output = output.with_context(|| format!("cannot write {}", log.display()))?;
        let configuration = self.configuration();
        let words = ["run", "--log", "reprieve=debug", "--log-format", "json", "-c"].map(OsStr::new);
        let arguments = [&words[..], &[configuration.as_os_str()]].concat();
        self.process = Some(Process::start(&self.program, &arguments, Stdio::null(), output.into())?);
        Ok(())
    }

    /// How it ended, where it did so by itself.
    pub(crate) fn ended_by_itself(&mut self) -> Result<Option<ExitStatus>> {
        let Some(process) = &mut self.process else { return Ok(None) };
        let status = process.try_wait().context("a host cannot be waited for")?;
        if status.is_some() {
            self.process = None;
        }
        Ok(status)
    }

    /// `kill -9`.
    pub(crate) async fn kill(&mut self) -> Result<()> {
        if let Some(process) = self.process.take() {
            process.kill().await.context("cannot kill a host")?;
        }
        Ok(())
    }

    /// SIGTERM, and the end in order that must follow.
    pub(crate) async fn terminate(&mut self) -> Result<()> {
        self.signal(Signal::SIGTERM)?;
        let Some(mut process) = self.process.take() else { return Ok(()) };
        match timeout(SHUTDOWN_TIMEOUT + GRACE, process.wait()).await {
            Ok(status) if status.as_ref().is_ok_and(ExitStatus::success) => Ok(()),
            Ok(status) => bail!("a host ended with {} after SIGTERM; see {}", status?, self.log().display()),
            Err(_) => bail!(
                "a host did not end within {:?} of SIGTERM; see {}",
                SHUTDOWN_TIMEOUT + GRACE,
                self.log().display()
            ),
        }
    }

    /// SIGHUP.
    pub(crate) fn hang_up(&self) -> Result<()> {
        self.signal(Signal::SIGHUP)
    }

    /// Makes this its policy, with the settings that it takes. A running host has to be told by SIGHUP.
    pub(crate) fn install(&self, policy: &Policy, file: &Path) -> Result<()> {
        self.configure(policy)?;
        let bytes = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        self.put_policy(&bytes)
    }

    /// Puts a file in place of its policy, by renaming.
    pub(crate) fn put_policy(&self, bytes: &[u8]) -> Result<()> {
        let (made, live) = (self.folder.join("made.wasm"), self.folder.join("policies/live.wasm"));
        fs::write(&made, bytes).with_context(|| format!("cannot write {}", made.display()))?;
        fs::rename(&made, &live).with_context(|| format!("cannot write {}", live.display()))
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        self.process.as_ref().map_or(Ok(()), |process| process.signal(signal)).context("cannot signal a host")
    }

    fn configuration(&self) -> PathBuf {
        self.folder.join("reprieve.toml")
    }

    fn configure(&self, policy: &Policy) -> Result<()> {
        let Peers { terms: Terms { broker, route }, handler } = &self.peers;
        let (settings, shutdown) = (policy.settings, SHUTDOWN_TIMEOUT.as_secs());
        let text = format!(
            r#"
[host]
admin = "127.0.0.1:0"
tiers = ["1s", "3s"]
shutdown_timeout = "{shutdown}s"

[policies]
folder = "policies"
deadline = "5s"          # a busy machine is no fault of a policy

[brokers.main]
{broker}
[[routes]]
name = "orders"
broker = "main"
{route}handler = {{ kind = "http", url = "{handler}", timeout = "4s" }}
concurrency = {SLOTS}
policy = "live"
retry = {{ max_attempts = 4, initial_delay = "100ms", max_delay = "1s" }}
requeue = {{ cooldown = "200ms", max_cooldown = "2s" }}

[routes.settings]
{settings}"#
        );
        fs::write(self.configuration(), text).context("cannot write a host's configuration")
    }
}
