//! `cargo xtask torture`: builds the program and the rig, sets up what the rig needs for a broker of its own, and runs it.

mod folder;

use std::fs::{self, Permissions};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::rabbitmq::node::{self, Node};
use crate::rabbitmq::package::{self, CONTROL};
use crate::{kafka, test_policies, workspace};
use folder::Folder;

/// Where each run has its folder.
const RUNS: &str = "target/torture";
/// What stands in for Narad.
const NARAD: &str = "narad-stand-in";
/// The runs that are steps of the tests.
const SHORT: &str = "short";
const SHORT_KAFKA: &str = "short-kafka";
const SHORT_ON_NARAD: &str = "short-narad";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Which broker to run on
    #[arg(long, value_enum, default_value = "rabbitmq")]
    broker: Broker,
    /// How long faults go on, at least until each has had its turn; the last messages take some time more
    #[arg(long, value_name = "MINUTES", default_value_t = 5.0)]
    minutes: f64,
    /// What decides the faults and the handler's answers; by default a number from the clock
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// Host processes on the one queue or topic
    #[arg(long, value_name = "NUMBER", default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=3))]
    hosts: u8,
    /// RabbitMQ: the kind of the queue that is consumed; by default quorum
    #[arg(long, value_enum)]
    source: Option<Source>,
    /// Messages sent a second
    #[arg(long, value_name = "NUMBER", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rate: u32,
    /// The folder of the run beneath target/torture; what an earlier run of this name left there is removed
    #[arg(long, value_name = "NAME", default_value = "run", value_parser = folder::name)]
    name: String,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Source {
    Quorum,
    Classic,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Broker {
    Rabbitmq,
    Kafka,
    /// A stand-in for it
    Narad,
}

const EXAMPLES: &str = "\
Examples:
  cargo xtask torture --broker rabbitmq --minutes 30    three hosts on a quorum queue
  cargo xtask torture --broker kafka --minutes 20       three hosts in a group on a topic
  cargo xtask torture --broker narad --minutes 15       three hosts on a topic of a stand-in
  cargo xtask torture --minutes 5 --seed 7              the faults and answers of an earlier run
  cargo xtask torture --hosts 1 --source classic        one host on a classic queue
  cargo xtask torture --name second                     beside a run that goes on

Logs, table.txt and timeline.svg are in target/torture/NAME.

Ctrl-C ends the faults and waits for the last message; a second one ends at once.

Exit codes:
  0  nothing was lost, and whatever came twice is explained by a fault
  1  a rule was broken, or the rig could not run";

/// Runs the rig in this process's place, so that Ctrl-C and the exit code are its own.
pub(crate) fn run(args: &Args) -> Result<()> {
    ensure!(
        args.source.is_none() || args.broker == Broker::Rabbitmq,
        "--source is the kind of a RabbitMQ queue: leave it out with another --broker"
    );
    let folder = folder(&args.name)?;
    let mut build = workspace::cargo();
    build.args(["build", "--quiet", "-p", "reprieve", "-p", "reprieve-torture"]);
    if args.broker == Broker::Narad {
        build.args(["-p", "reprieve-tests", "--bins"]);
    }
    workspace::run(&mut build)?;
    let mut rig = rig(args, folder)?;
    Err(rig.exec()).with_context(|| format!("cannot start {rig:?}"))
}

/// As short as a run can be in which every fault comes once: a minute or so, and the drain. The program and the rig are
/// those that were built along with the tests.
pub(crate) fn short() -> Result<()> {
    run_short(Broker::Rabbitmq, SHORT)
}

/// The same on Kafka.
pub(crate) fn short_kafka() -> Result<()> {
    run_short(Broker::Kafka, SHORT_KAFKA)
}

/// The same on a stand-in for Narad.
pub(crate) fn short_on_narad() -> Result<()> {
    run_short(Broker::Narad, SHORT_ON_NARAD)
}

fn run_short(broker: Broker, name: &str) -> Result<()> {
    let name = name.to_owned();
    let folder = folder(&name)?;
    let args = Args { broker, minutes: 0.1, seed: Some(7), hosts: 2, source: None, rate: 30, name };
    workspace::run(&mut rig(&args, folder)?)
}

/// Before anything is built, so that a second run is refused at once.
fn folder(name: &str) -> Result<Folder> {
    Folder::take(&workspace::root().join(RUNS), name)
}

/// The rig with a fresh node, all in one folder.
fn rig(args: &Args, folder: Folder) -> Result<Command> {
    match args.broker {
        Broker::Rabbitmq => package::ensure_installed()?,
        Broker::Kafka => kafka::prepare()?,
        Broker::Narad => {}
    }
    test_policies::run()?;
    folder.empty()?;
    let Folder { path: folder, lock } = folder;
    let built = workspace::root().join("target/debug");
    // Hosts are restarted all along, and must not become those of a later build.
    let program = folder.join("reprieve");
    fs::copy(built.join("reprieve"), &program).context("cannot copy the program")?;
    let node = folder.join(NARAD);
    if args.broker == Broker::Narad {
        fs::copy(built.join(NARAD), &node).context("cannot copy the stand-in")?;
    }
    let mut rig = Command::new(built.join("torture"));
    // The rig reads nothing: so the lock is open, and the folder taken, for exactly as long as the rig runs.
    rig.stdin(Stdio::from(lock));
    match args.broker {
        Broker::Rabbitmq => add_rabbitmq(&mut rig, &folder, args.source.unwrap_or(Source::Quorum))?,
        // The rig has a node of its own at hand.
        Broker::Kafka => drop(rig.args(["--broker", "kafka"])),
        Broker::Narad => drop(rig.args(["--broker", "narad", "--node"]).arg(node)),
    }
    rig.arg("--program").arg(program).arg("--folder").arg(folder);
    rig.arg("--policies").arg(workspace::root().join("host/policies"));
    rig.arg("--test-policies").arg(workspace::root().join("target/test-policies"));
    rig.args(["--minutes", &args.minutes.to_string(), "--hosts", &args.hosts.to_string()]);
    rig.args(["--rate", &args.rate.to_string()]);
    if let Some(seed) = args.seed {
        rig.args(["--seed", &seed.to_string()]);
    }
    Ok(rig)
}

/// What the rig has to know of a node in this folder.
fn add_rabbitmq(rig: &mut Command, folder: &Path, source: Source) -> Result<()> {
    let node = Node {
        // Names are known to the whole machine, so two runs at a time need two.
        name: format!("reprieve-torture-{}@localhost", std::process::id()),
        port: free_port()?,
        distribution_port: free_port()?,
        folder: folder.join("broker"),
    };
    fs::create_dir_all(&node.folder).with_context(|| format!("cannot make {}", node.folder.display()))?;
    rig.args(["--broker", "rabbitmq", "--node"]).arg(write_script(&node)?).args(["--port", &node.port.to_string()]);
    rig.args([
        "--source",
        match source {
            Source::Quorum => "quorum",
            Source::Classic => "classic",
        },
    ]);
    Ok(())
}

/// A script that starts the node in the foreground, or runs `rabbitmqctl` with its arguments on it: the rig kills and
/// restarts the node without knowing how one is set up.
fn write_script(node: &Node) -> Result<PathBuf> {
    let server = node::command(node)?;
    let mut script = String::from("#!/bin/sh\n");
    for (name, value) in server.get_envs() {
        let value = value.context("a variable without a value")?;
        script += &format!("export {}={}\n", name.display(), quoted(Path::new(value)));
    }
    script += &format!("[ \"$1\" = start ] && exec {}\n", quoted(Path::new(server.get_program())));
    script += &format!("exec {} \"$@\"\n", quoted(Path::new(CONTROL)));
    let path = node.folder.join("node.sh");
    fs::write(&path, script).with_context(|| format!("cannot write {}", path.display()))?;
    fs::set_permissions(&path, Permissions::from_mode(0o755))?;
    Ok(path)
}

/// As one word for a shell.
fn quoted(text: &Path) -> String {
    format!("'{}'", text.display().to_string().replace('\'', r"'\''"))
}

/// A port that nobody listens on now.
fn free_port() -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free port on 127.0.0.1")?;
    Ok(listener.local_addr()?.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_word_for_a_shell_whatever_is_in_it() {
        let path = Path::new("/a folder/it's $HOME");
        let printed = Command::new("sh").args(["-c", &format!("printf %s {}", quoted(path))]).output().unwrap();
        assert_eq!(String::from_utf8(printed.stdout).unwrap(), path.display().to_string());
    }
}
