//! The broker's process, which is the rig's own to kill.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use lapin::{Connection, ConnectionProperties};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::process::Command;
use tokio::time::{Instant, sleep, timeout};

use crate::process::Process;
use crate::within::{PATIENCE, within};

/// A busy machine takes long to start one.
const START_TIMEOUT: Duration = Duration::from_secs(180);
const STOP_TIMEOUT: Duration = Duration::from_secs(60);
/// Without a leader nothing goes in or out of a quorum queue. An election takes a second or two.
const ELECTION_TIMEOUT: Duration = Duration::from_secs(30);
/// In Erlang, the names of the quorum queues whose replica on this node, the only one, does not lead.
const WITHOUT_LEADER: &str = "\
    {_, Replicas} = rabbit_quorum_queue:all_replica_states(), \
    [element(4, amqqueue:get_name(Queue)) || Queue <- rabbit_amqqueue:list(), \
        amqqueue:get_type(Queue) =:= rabbit_quorum_queue, \
        maps:get(element(1, amqqueue:get_pid(Queue)), Replicas, none) =/= leader].";

/// A RabbitMQ node, run by a script that starts it in the foreground when it is told `start`, and else gives its
/// arguments to `rabbitmqctl`.
pub(super) struct Node {
    script: PathBuf,
    port: u16,
    server: Option<Process>,
}

impl Node {
    pub(super) fn new(script: PathBuf, port: u16) -> Self {
        Self { script, port, server: None }
    }

    pub(super) fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    /// Starts it and waits until clients are let in and every queue can be used.
    pub(super) async fn start(&mut self) -> Result<()> {
        let log = self.folder().join("output.log");
        let output = std::fs::OpenOptions::new().create(true).append(true).open(&log);
        let output = output.with_context(|| format!("cannot write {}", log.display()))?;
        let server = Process::start(&self.script, &["start"], output.try_clone()?.into(), output.into())?;
        let server = self.server.insert(server);
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
        let answers = timeout(START_TIMEOUT, async {
            while connect(address).await.is_err() {
                if let Some(status) = server.try_wait()? {
                    bail!("the broker ended ({status}) before it answered; see {}", log.display());
                }
                sleep(Duration::from_millis(100)).await;
            }
            Ok(())
        });
        answers.await.with_context(|| format!("no answer within {START_TIMEOUT:?}; see {}", log.display()))??;
        self.await_leaders().await
    }

    /// `kill -9`, of the node and of what it started.
    pub(super) async fn kill(&mut self) -> Result<()> {
        let Some(server) = self.server.take() else { return Ok(()) };
        server.kill().await.context("cannot kill the broker")
    }

    /// Stops it in order.
    pub(super) async fn stop(&mut self) -> Result<()> {
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
    pub(super) async fn block(&self, blocked: bool) -> Result<()> {
        let mark = if blocked { "0.000001" } else { "0.6" };
        self.control(&["set_vm_memory_high_watermark", mark]).await.map(drop)
    }

    /// How many messages are on these queues, those that were handed out and not settled included.
    pub(super) async fn messages_on(&self, queues: &[&str]) -> Result<u64> {
        let table = self.control(&["list_queues", "--silent", "--no-table-headers", "name", "messages"]).await?;
        let rows = table.lines().filter_map(|line| line.split_once('\t'));
        let counts = rows.filter(|(name, _)| queues.contains(name)).map(|(_, count)| count.parse::<u64>());
        counts.sum::<Result<u64, _>>().with_context(|| format!("rabbitmqctl wrote {table:?}"))
    }

    /// Waits until every quorum queue has a leader, by what the broker itself knows: nothing is sent or taken to find out.
    async fn await_leaders(&self) -> Result<()> {
        let begun = Instant::now();
        loop {
            let leaderless = self.control(&["eval", WITHOUT_LEADER]).await?;
            if leaderless == "[]" {
                return Ok(());
            }
            ensure!(
                begun.elapsed() < ELECTION_TIMEOUT,
                "no leader within {ELECTION_TIMEOUT:?} of the broker's start for {leaderless}"
            );
            sleep(Duration::from_millis(200)).await;
        }
    }

    async fn control(&self, words: &[&str]) -> Result<String> {
        let mut command = Command::new(&self.script);
        let output = command.args(words).kill_on_drop(true).output();
        let output = async { output.await.context("cannot run rabbitmqctl") };
        let output = within(PATIENCE, &format!("rabbitmqctl {}", words.join(" ")), output).await?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        ensure!(output.status.success(), "rabbitmqctl {}: {}", words.join(" "), text(&output.stderr));
        Ok(text(&output.stdout))
    }

    fn folder(&self) -> &Path {
        self.script.parent().expect("a script is in a folder")
    }
}

/// A client's connection, past every proxy.
pub(super) async fn connect(broker: SocketAddr) -> Result<Connection> {
    let url = format!("amqp://guest:guest@{broker}/%2f");
    let connecting = Connection::connect(&url, ConnectionProperties::default());
    Ok(timeout(Duration::from_secs(10), connecting).await.context("the broker does not answer")??)
}
