//! pika, in a process of its own.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use super::{Message, python, wait_for};

/// A client that talks to the broker directly.
pub(crate) struct Client {
    process: Child,
    pipes: Mutex<(ChildStdin, BufReader<ChildStdout>)>,
}

impl Client {
    pub(crate) fn start(url: &str) -> Self {
        let mut process = python("client.py")
            .arg(url)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the Python of the tests starts");
        let stdin = process.stdin.take().expect("it is piped");
        let stdout = process.stdout.take().expect("it is piped");
        Self { process, pipes: Mutex::new((stdin, BufReader::new(stdout))) }
    }

    /// Declares a durable queue.
    pub(crate) fn declare(&self, queue: &str, arguments: &Value) {
        self.ask(&json!({ "do": "declare", "queue": queue, "arguments": arguments }));
    }

    /// Publishes to a queue, each message confirmed by the broker.
    pub(crate) fn publish(&self, queue: &str, messages: &[Message]) {
        self.ask(&json!({ "do": "publish", "queue": queue, "messages": messages }));
    }

    /// The same with properties as they stand in a header frame: flags and all.
    pub(crate) fn publish_raw(&self, queue: &str, messages: &[(Vec<u8>, &str)]) {
        let text = |bytes: &[u8]| bytes.iter().copied().map(char::from).collect::<String>();
        let messages: Vec<_> = messages.iter().map(|(properties, body)| (text(properties), body)).collect();
        self.ask(&json!({ "do": "publish_raw", "queue": queue, "messages": messages }));
    }

    /// Publishes through a fanout exchange, made for it, with any bytes as routing key.
    pub(crate) fn publish_through(&self, exchange: &str, key: &[u8], queue: &str, message: &Message) {
        let key: String = key.iter().copied().map(char::from).collect();
        self.ask(
            &json!({ "do": "publish_through", "exchange": exchange, "key": key, "queue": queue, "message": message }),
        );
    }

    /// How many messages are ready on a queue.
    pub(crate) fn count(&self, queue: &str) -> u64 {
        self.ask(&json!({ "do": "count", "queue": queue })).as_u64().expect("a count")
    }

    /// Takes every message that is ready on a queue.
    pub(crate) fn take_all(&self, queue: &str) -> Vec<Message> {
        serde_json::from_value(self.ask(&json!({ "do": "take_all", "queue": queue }))).expect("messages")
    }

    /// Waits until exactly this many messages are ready on a queue.
    pub(crate) fn wait_for_count(&self, queue: &str, count: u64) {
        let mut seen = 0;
        let reached = wait_for(|| {
            seen = self.count(queue);
            (seen == count).then_some(())
        });
        assert!(reached.is_some(), "{seen} messages on {queue} at the end of the wait, not {count}");
    }

    /// Deletes queues and exchanges, whether or not they are there.
    pub(crate) fn delete<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Result<(), String> {
        self.try_ask(&json!({ "do": "delete", "names": names.into_iter().collect::<Vec<_>>() })).map(|_| ())
    }

    fn ask(&self, request: &Value) -> Value {
        self.try_ask(request).unwrap_or_else(|error| panic!("{request}: {error}"))
    }

    fn try_ask(&self, request: &Value) -> Result<Value, String> {
        // One that failed in the middle has told its test already.
        let mut pipes = self.pipes.lock().unwrap_or_else(PoisonError::into_inner);
        let (stdin, stdout) = &mut *pipes;
        let mut line = String::new();
        let exchange = writeln!(stdin, "{request}").and_then(|()| stdout.read_line(&mut line));
        exchange.map_err(|error| format!("the client does not answer: {error}"))?;
        let mut answer: Value = serde_json::from_str(&line).map_err(|_| "the client has ended".to_owned())?;
        match answer.get_mut("ok") {
            Some(ok) => Ok(ok.take()),
            None => Err(answer["error"].as_str().unwrap_or(&line).to_owned()),
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.process.kill().expect("a child that nobody waited for");
        self.process.wait().expect("a child that was killed");
    }
}
