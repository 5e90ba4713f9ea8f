//! A host that runs, seen from outside.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::place::Place;
use crate::{http, text, wait_for};

/// A running `reprieve run`. Killed when dropped; end it with [`Program::stop`], which looks at how it ends.
pub(crate) struct Program {
    child: Child,
    /// Entries, each of one line or more.
    log: Arc<Mutex<Vec<String>>>,
    admin: SocketAddr,
}

impl Program {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child =
            command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program can be started");
        let stderr = child.stderr.take().expect("it is piped");
        let log = Arc::<Mutex<Vec<String>>>::default();
        let lines = Arc::clone(&log);
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines() {
                let line = line.expect("the log is UTF-8");
                let mut lines = lines.lock().expect("nobody panics with it");
                match lines.last_mut() {
                    Some(last) if !text::begins(&line) => last.extend(["\n", &line]),
                    _ => lines.push(line),
                }
            }
        });
        let mut program = Self { child, log, admin: ([127, 0, 0, 1], 0).into() };
        let started = program.wait_for_line(&["admin="]);
        let address = started.split("admin=").nth(1).and_then(|rest| rest.split_whitespace().next());
        program.admin = address.and_then(|text| text.parse().ok()).expect("the log names the admin address");
        program
    }

    /// Waits for a log line with all of these in it.
    pub(crate) fn wait_for_line(&self, parts: &[&str]) -> String {
        let found = || self.log().into_iter().find(|line| parts.iter().all(|part| line.contains(part)));
        wait_for(&format!("a log line with {parts:?}"), found)
    }

    /// The log entries that have one of these in them, as [`text::shown`] shows them, with `names` replaced by what they
    /// stand for. Sorted: their order would depend on which task was quicker.
    pub(crate) fn lines(&self, parts: &[&str], names: &[(&str, &str)]) -> String {
        let log = self.log();
        let wanted = log.iter().filter(|line| parts.iter().any(|part| line.contains(part)));
        let mut lines: Vec<_> = wanted.map(|line| text::replaced(&text::shown(line), names)).collect();
        lines.sort_unstable();
        lines.join("\n")
    }

    fn log(&self) -> Vec<String> {
        self.log.lock().expect("nobody panics with it").clone()
    }

    /// What the admin listener answers: the status code, and JSON.
    pub(crate) fn get(&self, path: &str) -> (u16, Value) {
        let (status, body) = http::exchange(self.admin, "GET", path, &[], b"");
        (status, serde_json::from_str(&body).unwrap_or_else(|error| panic!("{path}: {error}: {body}")))
    }

    /// What a route is doing, as `/status` shows it.
    pub(crate) fn phase(&self, route: &str) -> Value {
        let (_, status) = self.get("/status");
        let mut routes = status["routes"].as_array().expect("a list of routes").iter();
        routes.find(|one| one["route"] == route).expect("the route is listed")["phase"].clone()
    }

    /// What `/readyz` says, readable, with `names` replaced by what they stand for.
    pub(crate) fn readiness(&self, names: &[(&str, &str)]) -> String {
        let (status, body) = self.get("/readyz");
        text::replaced(&format!("{status}\n{body:#}"), names)
    }

    /// Publishes to a memory broker; the status code and what is said about it.
    pub(crate) fn post(&self, topic: &str, headers: &[(&str, &str)], body: &[u8]) -> (u16, String) {
        http::exchange(self.admin, "POST", &format!("/topics/{topic}"), headers, body)
    }

    /// Publishes to a memory broker, which takes it.
    pub(crate) fn send(&self, topic: &str, id: &str, body: &str) {
        let (status, answer) = self.post(topic, &[("reprieve-id", id)], body.as_bytes());
        assert_eq!(status, 202, "{answer}");
    }

    /// Waits until a memory broker's topic holds this many messages, and gives them, sorted by id.
    pub(crate) fn messages(&self, topic: &str, count: usize) -> Vec<Value> {
        let mut messages = wait_for(&format!("{count} messages on {topic}"), || {
            let (_, shown) = self.get(&format!("/topics/{topic}?limit=100"));
            shown["messages"].as_array().filter(|messages| messages.len() >= count).cloned()
        });
        assert_eq!(messages.len(), count, "{messages:?}");
        messages.sort_by_key(|message| message["id"].to_string());
        messages
    }

    /// Waits until the route is ready.
    pub(crate) fn wait_until_ready(&self, route: &str) {
        let waits =
            |not_ready: &Value| not_ready.as_array().is_some_and(|all| all.iter().any(|one| one["route"] == route));
        wait_for(&format!("route {route}"), || (!waits(&self.get("/readyz").1["not_ready"])).then_some(()));
    }

    /// The other route handles messages while all this goes on.
    pub(crate) fn assert_that_mails_are_handled(&self, place: &Place) {
        self.wait_until_ready("mails");
        let body = format!("mail {}", place.handled().len());
        self.send("mails", "mail", &body);
        wait_for("the other route", || place.handled().contains(&body).then_some(()));
    }

    /// The most memory that it has had, in bytes.
    pub(crate) fn memory_peak(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("it runs on Linux");
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
        peak.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") * 1024
    }

    /// Reads policies and settings again.
    pub(crate) fn hang_up(&self) {
        self.signal("HUP");
    }

    /// Ends the host: it stops in order, and has not panicked in all its life.
    pub(crate) fn stop(mut self) {
        assert_eq!(self.child.try_wait().expect("its state can be asked for"), None, "the program lives");
        self.signal("TERM");
        let status = wait_for("the end of the program", || self.child.try_wait().expect("its state can be asked for"));
        let log = self.log().join("\n");
        assert!(status.success(), "{status}:\n{log}");
        assert!(!log.contains("panicked"), "{log}");
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("kill").args(["-s", name, &self.child.id().to_string()]).status();
        assert!(sent.expect("a kill command").success());
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It has ended already where the test went well.
        if self.child.kill().is_ok() {
            let _ = self.child.wait();
        }
        if std::thread::panicking() {
            eprintln!("the program's log:\n{}", self.log.lock().map(|log| log.join("\n")).unwrap_or_default());
        }
    }
}
