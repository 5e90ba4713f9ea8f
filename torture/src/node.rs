//! The broker's process, which is the rig's own to kill.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use lapin::{Connection, ConnectionProperties};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

/// A busy machine takes long to start one.
const START_TIMEOUT: Duration = Duration::from_secs(180);
const STOP_TIMEOUT: Duration = Duration::from_secs(60);

/// A RabbitMQ node, run by a script that starts it in the foreground when it is told `start`, and else gives its
/// arguments to `rabbitmqctl`.
pub(crate) struct Node {
    script: PathBuf,
    port: u16,
    server: Option<Child>,
}

impl Node {
    pub(crate) fn new(script: PathBuf, port: u16) -> Self {
        Self { script, port, server: None }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    /// Starts it and waits until clients are let in.
    pub(crate) async fn start(&mut self) -> Result<()> {
        let log = self.folder().join("output.log");
        let output = std::fs::OpenOptions::new().create(true).append(true).open(&log);
        let output = output.with_context(|| format!("cannot write {}", log.display()))?;
        let mut command = Command::new(&self.script);
        command.arg("start").stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
        // A group of its own: the server is a script with the node beneath it, and all of it is killed at once.
        let server = command.process_group(0).spawn();
        self.server = Some(server.with_context(|| format!("cannot run {}", self.script.display()))?);
        let answers = timeout(START_TIMEOUT, async {
            while connect(self.address()).await.is_err() {
                if let Some(status) = self.server.as_mut().expect("just started").try_wait()? {
                    bail!("the broker ended ({status}) before it answered; see {}", log.display());
                }
                sleep(Duration::from_millis(100)).await;
            }
            Ok(())
        });
        answers.await.with_context(|| format!("no answer within {START_TIMEOUT:?}; see {}", log.display()))?
    }

    /// `kill -9`, of the node and of what it started.
    pub(crate) async fn kill(&mut self) -> Result<()> {
        let Some(mut server) = self.server.take() else { return Ok(()) };
        if let Some(group) = group(&server) {
            killpg(group, Signal::SIGKILL).context("cannot kill the broker")?;
        }
        server.wait().await.context("the broker cannot be waited for")?;
        Ok(())
    }

    /// Stops it in order.
    pub(crate) async fn stop(&mut self) -> Result<()> {
        let pid_file = self.folder().join("pid");
        let pid = std::fs::read_to_string(&pid_file).with_context(|| format!("cannot read {}", pid_file.display()))?;
        let pid = Pid::from_raw(pid.trim().parse().with_context(|| format!("no number in {}", pid_file.display()))?);
        kill(pid, Signal::SIGTERM).context("cannot stop the broker")?;
        let server = self.server.as_mut().context("the broker does not run")?;
        timeout(STOP_TIMEOUT, server.wait()).await.context("the broker does not stop")??;
        self.server = None;
        Ok(())
    }

    /// Blocks all who publish, as a broker does that runs out of memory, or lets them go on.
    pub(crate) async fn block(&self, blocked: bool) -> Result<()> {
        let mark = if blocked { "0.000001" } else { "0.6" };
        self.control(&["set_vm_memory_high_watermark", mark]).await.map(drop)
    }

    /// How many messages are on these queues, those that were handed out and not settled included.
    pub(crate) async fn messages_on(&self, queues: &[&str]) -> Result<u64> {
        let table = self.control(&["list_queues", "--silent", "--no-table-headers", "name", "messages"]).await?;
        let rows = table.lines().filter_map(|line| line.split_once('\t'));
        let counts = rows.filter(|(name, _)| queues.contains(name)).map(|(_, count)| count.parse::<u64>());
        counts.sum::<Result<u64, _>>().with_context(|| format!("rabbitmqctl wrote {table:?}"))
    }

    async fn control(&self, words: &[&str]) -> Result<String> {
        let mut command = Command::new(&self.script);
        let output = command.args(words).kill_on_drop(true).output().await.context("cannot run rabbitmqctl")?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        ensure!(output.status.success(), "rabbitmqctl {}: {}", words.join(" "), text(&output.stderr));
        Ok(text(&output.stdout))
    }

    fn folder(&self) -> &Path {
        self.script.parent().expect("a script is in a folder")
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if let Some(group) = self.server.as_ref().and_then(group) {
            // It may have ended by itself.
            let _ = killpg(group, Signal::SIGKILL);
        }
    }
}

/// The group of a process that leads one, until it was waited for.
fn group(server: &Child) -> Option<Pid> {
    Some(Pid::from_raw(i32::try_from(server.id()?).expect("a process id")))
}

/// A client's connection, past every proxy.
pub(crate) async fn connect(broker: SocketAddr) -> Result<Connection> {
    let url = format!("amqp://guest:guest@{broker}/%2f");
    let connecting = Connection::connect(&url, ConnectionProperties::default());
    Ok(timeout(Duration::from_secs(10), connecting).await.context("the broker does not answer")??)
}
