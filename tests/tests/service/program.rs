//! A host that runs, seen from outside.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;

use crate::{PATIENCE, wait_for};

/// A running `reprieve run` that logs JSON. Killed when dropped.
pub(crate) struct Program {
    child: Child,
    /// Stays for as long as the program does.
    folder: Arc<TempDir>,
    pub(crate) admin: SocketAddr,
}

impl Program {
    pub(crate) fn start(mut command: Command, folder: Arc<TempDir>) -> Self {
        let stderr = File::create(folder.path().join("log")).expect("a writable folder");
        let child = command.stdout(Stdio::null()).stderr(stderr).spawn().expect("the program can be started");
        let mut program = Self { child, folder, admin: ([127, 0, 0, 1], 0).into() };
        program.admin = wait_for("the admin address", || {
            let ended = program.child.try_wait().expect("its state can be asked for");
            assert_eq!(ended, None, "the program ended at once:\n{}", program.log());
            let line = program.lines().into_iter().find(|line| line["message"] == "starting")?;
            Some(line["admin"].as_str()?.parse().expect("an address"))
        });
        program
    }

    /// All of its log so far.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).expect("the log is there")
    }

    /// Its complete lines.
    pub(crate) fn lines(&self) -> Vec<Value> {
        let log = self.log();
        let complete = log.rfind('\n').map_or("", |end| &log[..end]);
        complete.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
    }

    /// Waits for the log line with this message.
    pub(crate) fn wait_for_line(&self, message: &str) -> Value {
        wait_for(message, || self.lines().into_iter().find(|line| line["message"] == message))
    }

    /// What the admin listener answers: the status code and the body.
    pub(crate) fn get(&self, path: &str, headers: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(self.admin).expect("the admin listener takes connections");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time-out that is not zero");
        write!(stream, "GET {path} HTTP/1.0\r\n{headers}\r\n").expect("the request is taken");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer in UTF-8");
        let (head, body) = answer.split_once("\r\n\r\n").expect("an HTTP answer");
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status code");
        (status, body.to_owned())
    }

    /// The revision that judges on the first route.
    pub(crate) fn revision(&self) -> String {
        let status: Value = serde_json::from_str(&self.get("/status", "").1).expect("JSON");
        status["policies"]["routes"][0]["revision"].as_str().expect("a live policy").to_owned()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).expect("a process id");
        kill(Pid::from_raw(pid), signal).expect("the program is there to be told");
    }

    /// Waits for its end.
    pub(crate) fn wait_for_end(&mut self) -> ExitStatus {
        wait_for("the end of the program", || self.child.try_wait().expect("its state can be asked for"))
    }

    /// Tells it to stop, and waits until it did so in good order.
    pub(crate) fn stop(mut self) -> String {
        self.signal(Signal::SIGTERM);
        assert_eq!(self.wait_for_end().code(), Some(0), "{}", self.log());
        self.log()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It has ended already where the test went well.
        if self.child.kill().is_ok() {
            let _ = self.child.wait();
        }
        if std::thread::panicking() {
            eprintln!("the program's log:\n{}", self.log());
        }
    }
}
