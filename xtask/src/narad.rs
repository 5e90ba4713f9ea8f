//! A Narad for the tests: one that answers already, or one of our own.
//!
//! Ours is built by the Go toolchain from the module, pinned, and run in `--dev` mode: one node on loopback, security off. It is left
//! running for the next run.

use std::env;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

/// Where Narad keeps its program.
const PROGRAM: &str = "github.com/debanganthakuria/narad/cmd/narad";
/// What the driver is written for; it is to work with all from v2.0.2 on.
const VERSION: &str = "v3.1.0";
/// Where a node in `--dev` mode answers.
const PORT: u16 = 7942;
const START_TIMEOUT: Duration = Duration::from_secs(30);

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Which release to build and start
    #[arg(long, default_value = VERSION)]
    version: String,
}

/// Finds a node on this machine, or builds and starts one. Prints its URL, and says on stderr what it does.
///
/// # Errors
/// None answers, and none can be built or started; the text says why.
pub(crate) fn run(args: &Args) -> Result<()> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, PORT));
    if answers(address) {
        eprintln!("narad: using the one that answers on {address}, whatever its release");
    } else {
        let folder = folder(&args.version)?;
        start(&build(&folder, &args.version)?, &folder, address)?;
    }
    println!("http://{address}");
    Ok(())
}

/// The program, built where it is missing.
fn build(folder: &Path, version: &str) -> Result<PathBuf> {
    let program = folder.join("narad");
    if !program.exists() {
        let module = format!("{PROGRAM}@{version}");
        eprintln!("narad: building {module}");
        let built = Command::new("go").args(["install", &module]).env("GOBIN", folder).status();
        let built = built.context("narad: cannot run `go`: install the Go toolchain, 1.26 or newer")?;
        if !built.success() {
            bail!("narad: `go install {module}` failed ({built}); without a real Narad, its tests stay unproved");
        }
    }
    Ok(program)
}

fn start(program: &Path, folder: &Path, address: SocketAddr) -> Result<()> {
    let log = folder.join("output.log");
    let output = File::create(&log).with_context(|| format!("narad: cannot write {}", log.display()))?;
    let mut command = Command::new(program);
    command.args(["server", "start", "--dev"]).current_dir(folder);
    command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
    // A group of its own: Ctrl-C on the tests is not meant for it.
    let mut server =
        command.process_group(0).spawn().with_context(|| format!("narad: cannot run {}", program.display()))?;
    eprintln!("narad: starting process {}, its output in {}", server.id(), log.display());
    let begun = Instant::now();
    while begun.elapsed() < START_TIMEOUT {
        if answers(address) {
            eprintln!("narad: ready; it stays running for the next time");
            return Ok(());
        }
        if let Some(status) = server.try_wait()? {
            let said = fs::read_to_string(&log).unwrap_or_default();
            bail!("narad: it ended ({status}) before it answered:\n{said}");
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    server.kill().context("narad: cannot stop the node that did not answer")?;
    bail!("narad: no answer on {address} within {START_TIMEOUT:?}; see {}", log.display());
}

/// Whether something there is ready in the way that Narad is.
fn answers(address: SocketAddr) -> bool {
    let ready = || -> std::io::Result<String> {
        let timeout = Duration::from_secs(2);
        let mut stream = TcpStream::connect_timeout(&address, timeout)?;
        stream.set_read_timeout(Some(timeout))?;
        write!(stream, "GET /readyz HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    ready().is_ok_and(|answer| answer.starts_with("HTTP/1.1 200"))
}

/// In the user's cache: each release has its own program and data.
fn folder(version: &str) -> Result<PathBuf> {
    let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(|| Some(env::home_dir()?.join(".cache")));
    let folder =
        cache.context("narad: no home folder to keep the node's data in")?.join("reprieve-tests/narad").join(version);
    fs::create_dir_all(&folder).with_context(|| format!("narad: cannot make {}", folder.display()))?;
    Ok(folder)
}
