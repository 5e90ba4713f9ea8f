//! The `reprieve` program.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use super::{json_lines, wait_for, wait_until};

/// `reprieve run` with a configuration.
pub(crate) struct Program {
    process: Child,
    log: PathBuf,
    admin: SocketAddr,
}

impl Program {
    /// Starts it, and waits until it says where its admin listener is.
    pub(crate) fn start(config: &Path) -> Self {
        let log = config.with_extension("log");
        let stderr = File::create(&log).expect("a writable folder");
        let process = Command::new(executable())
            .args(["run", "--log-format", "json", "-c"])
            .arg(config)
            .stdin(Stdio::null())
            .stderr(stderr)
            .spawn()
            .expect("the program starts");
        let mut program = Self { process, log, admin: ([127, 0, 0, 1], 0).into() };
        program.admin = wait_until("the program starts", || {
            assert!(program.process.try_wait().expect("a child").is_none(), "the program ended at once");
            let starting = program.lines().into_iter().find(|line| line["message"] == "starting")?;
            Some(starting["admin"].as_str()?.parse().expect("an address"))
        });
        program
    }

    /// Its log, a JSON object for each line.
    pub(crate) fn lines(&self) -> Vec<Value> {
        json_lines(&self.log)
    }

    /// What the admin listener answers to this path: status and JSON.
    pub(crate) fn get(&self, path: &str) -> (u16, Value) {
        let mut stream = TcpStream::connect(self.admin).expect("the admin listener");
        // With 1.0 the answer ends where the connection does.
        write!(stream, "GET {path} HTTP/1.0\r\n\r\n").expect("a request");
        let mut response = String::new();
        stream.read_to_string(&mut response).expect("an answer");
        let (head, body) = response.split_once("\r\n\r\n").expect("a head and a body");
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        (status, serde_json::from_str(body).unwrap_or_else(|_| Value::from(body)))
    }

    /// Waits until every route takes messages.
    pub(crate) fn wait_until_ready(&self) {
        let mut seen = Value::Null;
        let ready = wait_for(|| {
            let (status, body) = self.get("/readyz");
            seen = body;
            (status == 200).then_some(())
        });
        assert!(ready.is_some(), "not ready in time: {seen}");
    }

    /// What `/status` says of a route's policy.
    pub(crate) fn policy(&self, route: &str) -> Value {
        let (_, mut status) = self.get("/status");
        let routes = status["policies"]["routes"].as_array_mut().expect("a list of routes");
        routes.iter_mut().find(|policy| policy["route"] == route).expect("a route of this name").take()
    }

    /// The revision that judges on a route, as headers show it.
    pub(crate) fn revision(&self, route: &str) -> String {
        let policy = self.policy(route);
        let text = |name: &str| policy[name].as_str().expect("a live policy").to_owned();
        format!("{}@{}", text("policy"), &text("revision")[..12])
    }

    /// Waits until another revision than `before` judges on a route, and gives it.
    pub(crate) fn wait_for_another_revision(&self, route: &str, before: &str) -> String {
        wait_until("another revision is live", || Some(self.revision(route)).filter(|now| now != before))
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.process.id()).expect("a process id");
        kill(Pid::from_raw(pid), signal).expect("the program is there to be told");
    }

    /// Whether it has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.process.try_wait().expect("a child").is_some()
    }

    /// Waits for its end.
    pub(crate) fn wait_for_end(&mut self) -> ExitStatus {
        wait_until("the program ends", || self.process.try_wait().expect("a child"))
    }

    /// Tells it to stop, and waits until it did so in good order.
    pub(crate) fn stop(&mut self) {
        self.signal(Signal::SIGTERM);
        assert_eq!(self.wait_for_end().code(), Some(0), "an orderly end");
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if self.process.try_wait().expect("a child").is_none() {
            self.process.kill().expect("a child that runs");
            self.process.wait().expect("a child that was killed");
        }
        if std::thread::panicking() {
            let log = fs::read_to_string(&self.log).unwrap_or_else(|error| error.to_string());
            let lines: Vec<&str> = log.lines().collect();
            eprintln!("the end of the program's log:\n{}", lines[lines.len().saturating_sub(40)..].join("\n"));
        }
    }
}

/// The program that was built with these tests.
fn executable() -> PathBuf {
    let own = std::env::current_exe().expect("the test knows itself");
    let profile = own.parent().and_then(Path::parent).expect("tests are built to target/PROFILE/deps");
    let program = profile.join("reprieve");
    assert!(
        program.is_file(),
        "{} is not there: run `cargo xtask test`, or build it with `cargo build -p reprieve`",
        program.display()
    );
    program
}
