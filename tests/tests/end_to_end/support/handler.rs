//! The HTTP handler, which keeps its own account.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use serde::Deserialize;
use serde_json::{Value, json};

use super::{json_lines, python, wait_until};

/// A line of the handler's account.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Event {
    pub(crate) event: String,
    /// Seconds since 1970, by the clock of the handler.
    pub(crate) at: f64,
    pub(crate) id: String,
    /// What the program said: attempt, redelivery, route, and the tier that the message came out of.
    pub(crate) attempt: u32,
    pub(crate) redelivered: bool,
    pub(crate) route: String,
    pub(crate) tier: Option<String>,
    /// The trace that the handler was told.
    pub(crate) traceparent: Option<String>,
    pub(crate) body: String,
    /// The path that was posted to, `/` where the route's URL is [`Handler::url`].
    pub(crate) path: String,
    /// What was answered, where this is an answer.
    pub(crate) status: Option<u16>,
}

/// An HTTP handler in a process of its own that answers by a script.
pub(crate) struct Handler {
    process: Child,
    port: u16,
    log: PathBuf,
}

impl Handler {
    /// Starts it with the answers to each id.
    pub(crate) fn start(folder: &Path, script: &BTreeMap<String, Value>) -> Self {
        let (script_file, log) = (folder.join("script.json"), folder.join("handler.log"));
        std::fs::write(&script_file, serde_json::to_vec(script).expect("a script is JSON")).expect("a writable folder");
        let mut process =
            python("handler.py").arg(script_file).arg(&log).stdout(Stdio::piped()).spawn().expect("Python starts");
        let mut port = String::new();
        let stdout = process.stdout.take().expect("it is piped");
        BufReader::new(stdout).read_line(&mut port).expect("the handler says its port");
        Self { process, port: port.trim().parse().expect("a port"), log }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    /// The whole account so far.
    fn account(&self) -> Vec<Event> {
        json_lines(&self.log)
    }

    /// What was asked so far, in order.
    pub(crate) fn asked(&self) -> Vec<Event> {
        self.account().into_iter().filter(|event| event.event == "asked").collect()
    }

    /// What was answered so far, in order.
    pub(crate) fn answered(&self) -> Vec<Event> {
        self.account().into_iter().filter(|event| event.event == "answered").collect()
    }

    /// The runs of each id, in order, each with what was answered.
    pub(crate) fn runs(&self) -> BTreeMap<String, Vec<Event>> {
        let mut runs: BTreeMap<String, Vec<Event>> = BTreeMap::new();
        for event in self.answered() {
            runs.entry(event.id.clone()).or_default().push(event);
        }
        runs
    }

    /// Waits until at least this many requests came.
    pub(crate) fn wait_for_asked(&self, count: usize) {
        self.wait_for_lines(count, r#""event": "asked""#);
    }

    /// Waits until at least this many requests were answered.
    pub(crate) fn wait_for_answered(&self, count: usize) {
        self.wait_for_lines(count, r#""event": "answered""#);
    }

    /// Understanding every line each time would take longer than what is waited for.
    fn wait_for_lines(&self, count: usize, with: &str) {
        wait_until(&format!("{count} lines with {with}"), || {
            let text = std::fs::read_to_string(&self.log).expect("the account was made before the port was said");
            (text.matches(with).count() >= count).then_some(())
        });
    }
}

impl Drop for Handler {
    fn drop(&mut self) {
        self.process.kill().expect("a child that nobody waited for");
        self.process.wait().expect("a child that was killed");
    }
}

/// One answer: a status, and the kind of error where it is one.
pub(crate) fn answer(status: u16, kind: &str) -> Value {
    if kind.is_empty() { json!({ "status": status }) } else { json!({ "status": status, "kind": kind }) }
}

/// Answers with these statuses, one run after the other.
pub(crate) fn answers(statuses: &[u16]) -> Value {
    statuses.iter().map(|status| answer(*status, "")).collect()
}
