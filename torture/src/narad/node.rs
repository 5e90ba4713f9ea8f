//! The node's process, which is the rig's own to kill.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use nix::sys::signal::Signal;
use reprieve_kafka_node::free_ports;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use crate::process::Process;

/// It reads its file again, on a busy machine.
const START_TIMEOUT: Duration = Duration::from_secs(60);
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// A stand-in that keeps its topics in a file.
pub(super) struct Node {
    program: PathBuf,
    folder: PathBuf,
    address: SocketAddr,
    process: Option<Process>,
}

impl Node {
    /// One that is not started yet.
    pub(super) fn new(program: PathBuf, folder: PathBuf) -> Result<Self> {
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let [port] = free_ports::<1>()?;
        Ok(Self { program, folder, address: ([127, 0, 0, 1], port).into(), process: None })
    }

    pub(super) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Starts it and waits until it answers.
    pub(super) async fn start(&mut self) -> Result<()> {
        let log = self.folder.join("output.log");
        let output = std::fs::OpenOptions::new().create(true).append(true).open(&log);
        let output = output.with_context(|| format!("cannot write {}", log.display()))?;
        let arguments = [self.address.to_string(), self.folder.join("topics.jsonl").display().to_string()];
        let process = Process::start(&self.program, &arguments, output.try_clone()?.into(), output.into())?;
        let process = self.process.insert(process);
        let answers = timeout(START_TIMEOUT, async {
            while TcpStream::connect(self.address).await.is_err() {
                if let Some(status) = process.try_wait()? {
                    bail!("the node ended ({status}) before it answered; see {}", log.display());
                }
                sleep(Duration::from_millis(20)).await;
            }
            Ok(())
        });
        answers.await.with_context(|| format!("no answer within {START_TIMEOUT:?}; see {}", log.display()))?
    }

    /// `kill -9`.
    pub(super) async fn kill(&mut self) -> Result<()> {
        let Some(process) = self.process.take() else { return Ok(()) };
        process.kill().await.context("cannot kill the node")
    }

    /// Stops it in order: it answers what has come, and nothing more.
    pub(super) async fn stop(&mut self) -> Result<()> {
        let process = self.process.as_mut().context("the node does not run")?;
        process.signal(Signal::SIGTERM).context("cannot stop the node")?;
        timeout(STOP_TIMEOUT, process.wait()).await.context("the node does not stop")??;
        self.process = None;
        Ok(())
    }
}
