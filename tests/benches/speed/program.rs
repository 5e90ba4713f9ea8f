//! The program from outside: how long until it is ready, how much memory it holds when idle, how long a swap takes.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use reprieve::policy::embedded;

use crate::table::{Table, median};

const ADMIN: &str = "127.0.0.1:17878";
const ROUNDS: usize = 7;
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn measure(table: &mut Table) -> anyhow::Result<()> {
    let folder = std::env::temp_dir().join(format!("reprieve-bench-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("policies"))?;
    let result = measure_in(&folder, table);
    std::fs::remove_dir_all(&folder)?;
    result
}

fn measure_in(folder: &Path, table: &mut Table) -> anyhow::Result<()> {
    let (mut starts, mut memory) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let _ = std::fs::remove_dir_all(folder.join("state"));
        let begin = Instant::now();
        let host = Running::start(folder, None)?;
        starts.push(begin.elapsed());
        memory.push(host.resident_mebibytes()?);
    }
    let start = median(&mut starts);
    table.row(
        "start to ready, embedded policy",
        format!("{start:.0?}"),
        "<= 300 ms",
        start <= Duration::from_millis(300),
    );
    let idle = median(&mut memory);
    table.row("idle memory", format!("{idle:.1} MiB"), "<= 40 MiB", idle <= 40.0);

    let file = folder.join("policies/live.wasm");
    std::fs::write(&file, embedded::STANDARD)?;
    let host = Running::start(folder, Some("live"))?;
    let mut swaps = Vec::new();
    for round in 0..ROUNDS {
        let next = if round % 2 == 0 { embedded::BY_ERROR_KIND } else { embedded::STANDARD };
        let before = host.revision()?;
        std::fs::write(folder.join("next"), next)?;
        let begin = Instant::now();
        std::fs::rename(folder.join("next"), &file)?;
        wait_until(|| Ok(host.revision()? != before))?;
        swaps.push(begin.elapsed());
    }
    let swap = median(&mut swaps);
    table.row(
        "file renamed into the folder to live",
        format!("{swap:.0?}"),
        "<= 400 ms",
        swap <= Duration::from_millis(400),
    );
    Ok(())
}

/// A program that runs until it is dropped.
struct Running(Child);

impl Running {
    fn start(folder: &Path, policy: Option<&str>) -> anyhow::Result<Self> {
        let config = folder.join("bench.toml");
        let policy = policy.map_or_else(String::new, |name| format!("policy = \"{name}\"\n"));
        std::fs::write(
            &config,
            format!(
                "[host]\nadmin = \"{ADMIN}\"\n[policies]\nfolder = \"policies\"\n[brokers.main]\nkind = \"memory\"\n\
                 [[routes]]\nname = \"orders\"\nbroker = \"main\"\nsource = \"orders\"\n{policy}\
                 handler = {{ kind = \"http\", url = \"http://127.0.0.1:1/\" }}\n\
                 dead_letters = {{ default = \"orders.dlq\" }}\n"
            ),
        )?;
        let child = Command::new(program()?)
            .args(["run", "--log", "error", "-c"])
            .arg(&config)
            .stderr(Stdio::inherit())
            .spawn()
            .context("cannot start the program")?;
        let running = Self(child);
        wait_until(|| Ok(get("/readyz").is_ok_and(|answer| answer.starts_with("HTTP/1.1 200"))))?;
        Ok(running)
    }

    fn revision(&self) -> anyhow::Result<String> {
        let status = get("/status")?;
        let at = status.find("\"revision\":\"").context("/status names no revision")? + "\"revision\":\"".len();
        Ok(status[at..].chars().take(64).collect())
    }

    fn resident_mebibytes(&self) -> anyhow::Result<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0.id()))?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).context("no VmRSS")?;
        let kibibytes: f64 = line.split_whitespace().nth(1).context("no number")?.parse()?;
        Ok(kibibytes / 1024.0)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.kill().expect("the program can be ended");
        self.0.wait().expect("the program has ended");
    }
}

/// The program that was built beside this benchmark.
fn program() -> anyhow::Result<PathBuf> {
    let here = std::env::current_exe()?;
    let built = here.ancestors().nth(2).context("benchmarks are in target/release/deps")?.join("reprieve");
    if !built.exists() {
        bail!("{} is not there: run `cargo build --release -p reprieve` first", built.display());
    }
    Ok(built)
}

fn wait_until(mut holds: impl FnMut() -> anyhow::Result<bool>) -> anyhow::Result<()> {
    let begin = Instant::now();
    while !holds()? {
        if begin.elapsed() > PATIENCE {
            bail!("waited for {PATIENCE:?} in vain");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

fn get(path: &str) -> anyhow::Result<String> {
    let mut stream = TcpStream::connect(ADMIN)?;
    write!(stream, "GET {path} HTTP/1.1\r\nhost: bench\r\nconnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}
