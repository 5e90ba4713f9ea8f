//! A RabbitMQ node of our own: the one that tests share, or one that a chore has to itself.

use std::env;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::package::SERVER;

/// Where the shared node answers; far from the usual ports, so that both can run.
pub(super) const PORT: u16 = 35672;
const START_TIMEOUT: Duration = Duration::from_secs(90);

/// What tells one node from another.
pub(crate) struct Node {
    /// As other nodes know it, such as `reprieve-tests@localhost`.
    pub(crate) name: String,
    /// Where it answers clients, on 127.0.0.1.
    pub(crate) port: u16,
    /// Where it answers its own tools, on 127.0.0.1.
    pub(crate) distribution_port: u16,
    /// Its configuration, data, logs and `pid` file.
    pub(crate) folder: PathBuf,
}

impl Node {
    /// The one that tests share.
    pub(super) fn shared() -> Result<Self> {
        let (name, folder) = ("reprieve-tests@localhost".to_owned(), folder()?);
        Ok(Self { name, port: PORT, distribution_port: PORT + 1, folder })
    }
}

/// Starts the node in the background and waits until it answers.
pub(super) fn start(node: &Node) -> Result<()> {
    let Node { name, port, folder, .. } = node;
    let log = folder.join("output.log");
    let output = File::create(&log).with_context(|| format!("rabbitmq: cannot write {}", log.display()))?;
    let mut command = command(node)?;
    command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
    // A group of its own: Ctrl-C on the tests is not meant for it.
    let mut server = command.process_group(0).spawn().with_context(|| format!("rabbitmq: cannot run {SERVER}"))?;
    eprintln!("rabbitmq: starting node {name} on port {port}, process {}, data in {}", server.id(), folder.display());

    let begun = Instant::now();
    while begun.elapsed() < START_TIMEOUT {
        if super::answers(super::local(*port)) {
            eprintln!(
                "rabbitmq: ready after {:.1} s; it stays running for the next time",
                begun.elapsed().as_secs_f32()
            );
            return Ok(());
        }
        if let Some(status) = server.try_wait()? {
            bail!("rabbitmq: the node ended ({status}) before it answered:\n{}", tail(&log));
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    // The group that was started, and nothing else: the server is a script with the node beneath it.
    let group = format!("-{}", server.id());
    Command::new("kill").args(["--", &group]).status().context("rabbitmq: cannot stop the node that did not answer")?;
    bail!("rabbitmq: no answer on port {port} within {START_TIMEOUT:?}:\n{}", tail(&log));
}

/// The server in the foreground, and the files that it reads.
pub(crate) fn command(node: &Node) -> Result<Command> {
    let Node { name, port, distribution_port, folder } = node;
    let config = folder.join("rabbitmq.conf");
    fs::write(&config, format!("listeners.tcp.1 = 127.0.0.1:{port}\n"))?;
    let plugins = folder.join("enabled_plugins");
    fs::write(&plugins, "[].\n")?;

    let mut command = Command::new(SERVER);
    command
        // The cookie that nodes know each other by is kept here too.
        .env("HOME", folder)
        .env("RABBITMQ_NODENAME", name)
        .env("RABBITMQ_NODE_PORT", port.to_string())
        .env("RABBITMQ_DIST_PORT", distribution_port.to_string())
        .env("RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS", "-kernel inet_dist_use_interface {127,0,0,1}")
        .env("ERL_EPMD_ADDRESS", "127.0.0.1")
        .env("RABBITMQ_CONFIG_FILE", config)
        .env("RABBITMQ_CONF_ENV_FILE", folder.join("rabbitmq-env.conf"))
        .env("RABBITMQ_ENABLED_PLUGINS_FILE", plugins)
        .env("RABBITMQ_MNESIA_BASE", folder.join("data"))
        .env("RABBITMQ_LOG_BASE", folder.join("log"))
        .env("RABBITMQ_PID_FILE", folder.join("pid"));
    Ok(command)
}

/// In the user's cache: the node serves every checkout, and must outlive the one that started it.
fn folder() -> Result<PathBuf> {
    let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(|| Some(env::home_dir()?.join(".cache")));
    let folder = cache.context("rabbitmq: no home folder to keep the node's data in")?.join("reprieve-tests/rabbitmq");
    fs::create_dir_all(&folder).with_context(|| format!("rabbitmq: cannot make {}", folder.display()))?;
    folder.canonicalize().with_context(|| format!("rabbitmq: cannot find {}", folder.display()))
}

/// The end of what the node wrote.
fn tail(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_else(|error| format!("(no output: {error})"));
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(30)..].join("\n")
}
