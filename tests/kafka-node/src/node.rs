//! One node and its process.

use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::configuration::Settings;
use crate::greeting::answers;
use crate::java;
use crate::keeper::{IDS, KEEPER, belongs_to, ids, is_alive};

/// A busy machine takes long.
const START_TIMEOUT: Duration = Duration::from_secs(180);
const STOP_TIMEOUT: Duration = Duration::from_secs(60);

/// A node, running or not. One that was started by [`Node::start`] ends with this value, or with this process however that
/// ends.
#[derive(Debug)]
pub struct Node {
    settings: Settings,
    /// Its folder is removed in the end.
    temporary: bool,
    keeper: Option<Child>,
}

impl Node {
    /// A node that is not started yet. The folder stays when the node is gone.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self { settings, temporary: false, keeper: None }
    }

    /// Starts a node whose folder is removed in the end.
    ///
    /// # Errors
    /// As [`Node::start`].
    pub fn temporary(settings: Settings) -> Result<Self> {
        let mut node = Self { settings, temporary: true, keeper: None };
        node.start()?;
        Ok(node)
    }

    /// `127.0.0.1:PORT`, for clients.
    #[must_use]
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.settings.port)
    }

    /// Where it is, and what is special about it. Changes hold from the next start on.
    pub fn settings(&mut self) -> &mut Settings {
        &mut self.settings
    }

    /// Starts it on the data that it has, and waits until it takes requests.
    ///
    /// # Errors
    /// Where it runs already, its port is taken, there is no Java, or it does not come up; the text has the end of its log.
    pub fn start(&mut self) -> Result<()> {
        ensure!(self.keeper.is_none(), "kafka: the node on port {} runs already", self.settings.port);
        let server = self.prepare()?;
        let folder = &self.settings.folder;
        let mut keeper = Command::new("sh");
        keeper.args(["-c", KEEPER, "keeper"]).arg(folder.join(IDS));
        keeper.arg(if self.temporary { folder.as_path() } else { Path::new("") });
        keeper.arg(server.get_program()).args(server.get_args()).stdin(Stdio::piped());
        let mut keeper = self.spawn(&mut keeper)?;
        let up = self.wait_until_up(&mut keeper);
        // Dropping it ends the node, also where that did not come up.
        self.keeper = Some(keeper);
        up
    }

    /// Starts it so that it outlives this process, until somebody ends the process that this gives the id of.
    ///
    /// # Errors
    /// As [`Node::start`].
    pub fn start_to_stay(settings: Settings) -> Result<i32> {
        let node = Self::new(settings);
        let mut server = node.prepare()?;
        let mut child = node.spawn(server.stdin(Stdio::null()))?;
        let id = child.id();
        let ids = node.settings.folder.join(IDS);
        fs::write(&ids, format!("{id} {id}\n")).with_context(|| format!("kafka: cannot write {}", ids.display()))?;
        if let Err(error) = node.wait_until_up(&mut child) {
            child.kill().context("kafka: cannot end the node that did not come up")?;
            return Err(error);
        }
        Ok(id.cast_signed())
    }

    /// Ends one that outlived whoever started it. Gives whether there was one.
    ///
    /// # Errors
    /// Where it does not end.
    pub fn stop_what_stayed(folder: &Path) -> Result<bool> {
        let Some((_, node)) = ids(folder)?.filter(|(_, node)| is_alive(*node) && belongs_to(*node, folder)) else {
            return Ok(false);
        };
        signal(node, Signal::SIGTERM)?;
        let begun = Instant::now();
        // One that nobody waits for is there still when it has ended, but nothing of the folder.
        while is_alive(node) && belongs_to(node, folder) {
            ensure!(begun.elapsed() < STOP_TIMEOUT, "kafka: process {node} does not end");
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(true)
    }

    /// Stops it in order. Its data stays.
    ///
    /// # Errors
    /// Where it does not run, or does not stop in time.
    pub fn stop(&mut self) -> Result<()> {
        self.end(Signal::SIGTERM)
    }

    /// `kill -9`. Its data stays.
    ///
    /// # Errors
    /// Where it does not run.
    pub fn kill(&mut self) -> Result<()> {
        self.end(Signal::SIGKILL)
    }

    fn end(&mut self, how: Signal) -> Result<()> {
        let Self { settings, keeper, .. } = self;
        let keeper = keeper.as_mut().with_context(|| format!("kafka: no node runs on port {}", settings.port))?;
        let (_, node) = ids(&settings.folder)?.context("kafka: a node runs whose process id is not known")?;
        signal(node, how)?;
        let begun = Instant::now();
        // Its keeper ends when it does. To wait for it would close its input first, and it would kill the node.
        while keeper.try_wait()?.is_none() {
            ensure!(begun.elapsed() < STOP_TIMEOUT, "kafka: the node on port {} does not end", settings.port);
            std::thread::sleep(Duration::from_millis(20));
        }
        self.keeper = None;
        // Without them the folder is not taken for a left-over.
        let ids = settings.folder.join(IDS);
        fs::remove_file(&ids).with_context(|| format!("kafka: cannot remove {}", ids.display()))
    }

    /// The server in the foreground, with a configuration, and a folder that is formatted for it.
    fn prepare(&self) -> Result<Command> {
        let Settings { folder, port, .. } = &self.settings;
        ensure!(
            !answers(*port),
            "kafka: a broker answers on port {port} already, left over from an earlier run or somebody else's; end it first"
        );
        fs::create_dir_all(folder).with_context(|| format!("kafka: cannot make {}", folder.display()))?;
        let file = folder.join("server.properties");
        fs::write(&file, self.settings.properties())
            .with_context(|| format!("kafka: cannot write {}", file.display()))?;
        let config = file.to_str().with_context(|| format!("kafka: {} is not UTF-8", file.display()))?;
        if !folder.join("data/meta.properties").exists() {
            // Any 16 bytes in base64 do: nodes of different clusters never meet.
            let cluster = "cmVwcmlldmUtdGVzdC0wMQ";
            java::run("kafka.tools.StorageTool", &["format", "-t", cluster, "-c", config])?;
        }
        let mut server = java::kafka("kafka.Kafka")?;
        server.arg(config);
        Ok(server)
    }

    fn spawn(&self, command: &mut Command) -> Result<Child> {
        let log = self.settings.folder.join("output.log");
        let output = File::options().create(true).append(true).open(&log);
        let output = output.with_context(|| format!("kafka: cannot write {}", log.display()))?;
        // A group of its own: Ctrl-C is not meant for it.
        command.stdout(output.try_clone()?).stderr(output).process_group(0);
        command.spawn().context("kafka: cannot start the node")
    }

    fn wait_until_up(&self, process: &mut Child) -> Result<()> {
        let Settings { port, folder, .. } = &self.settings;
        let begun = Instant::now();
        while !answers(*port) {
            if let Some(status) = process.try_wait()? {
                bail!("kafka: the node ended ({status}) before it answered:\n{}", tail(folder));
            }
            ensure!(
                begun.elapsed() < START_TIMEOUT,
                "kafka: no answer on port {port} within {START_TIMEOUT:?}:\n{}",
                tail(folder)
            );
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if let Some(mut keeper) = self.keeper.take() {
            drop(keeper.stdin.take());
            // It kills the node, and removes the folder of one that is temporary.
            let _ = keeper.wait();
        } else if self.temporary {
            let _ = fs::remove_dir_all(&self.settings.folder);
        }
    }
}

fn signal(node: Pid, signal: Signal) -> Result<()> {
    kill(node, signal).with_context(|| format!("kafka: cannot send {signal} to process {node}"))
}

/// The end of what the node wrote.
fn tail(folder: &Path) -> String {
    let text = fs::read_to_string(folder.join("output.log")).unwrap_or_else(|error| format!("(no output: {error})"));
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(30)..].join("\n")
}
