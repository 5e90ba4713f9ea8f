//! Asks the node: HTTP/1.1 with a connection for each request.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::counts::Counts;

/// Nothing that the rig asks for takes long, unless the node is slow on purpose.
const ANSWER: Duration = Duration::from_secs(20);

/// A way to the node past every proxy.
#[derive(Debug, Clone, Copy)]
pub(super) struct Client {
    node: SocketAddr,
}

/// How a topic is.
#[derive(Debug, Clone, Copy)]
pub(super) struct State {
    /// How many messages could be taken now.
    pub(super) ready: u32,
    /// Those that are not settled, also where they wait or are in somebody's hands.
    pub(super) open: u64,
    /// Who has asked for some since the node started.
    pub(super) consumers: usize,
}

impl Client {
    pub(super) const fn new(node: SocketAddr) -> Self {
        Self { node }
    }

    /// The status and the body of the answer.
    pub(super) async fn get(&self, path: &str) -> Result<(u16, String)> {
        self.ask("GET", path, "").await
    }

    pub(super) async fn post(&self, path: &str, body: &str) -> Result<(u16, String)> {
        self.ask("POST", path, body).await
    }

    pub(super) async fn state(&self, topic: &str) -> Result<State> {
        let state = self.read(&format!("/stand-in/topics/{topic}")).await?;
        let number = |name: &str| state[name].as_u64().with_context(|| format!("no {name} in {state}"));
        Ok(State {
            ready: number("ready")?.try_into()?,
            open: number("open")?,
            consumers: number("consumers")?.try_into()?,
        })
    }

    /// The payloads that are not settled.
    pub(super) async fn open(&self, topic: &str) -> Result<Vec<String>> {
        let payloads = self.read(&format!("/stand-in/open/{topic}")).await?;
        let payloads = payloads.as_array().context("no list of payloads")?;
        Ok(payloads.iter().filter_map(Value::as_str).map(str::to_owned).collect())
    }

    pub(super) async fn counts(&self) -> Result<Counts> {
        Counts::read(&self.read("/stand-in/counts").await?)
    }

    async fn read(&self, path: &str) -> Result<Value> {
        let (status, body) = self.get(path).await?;
        ensure!(status == 200, "{path}: {status}: {body}");
        serde_json::from_str(&body).with_context(|| format!("{path}: no JSON"))
    }

    async fn ask(&self, method: &str, path: &str, body: &str) -> Result<(u16, String)> {
        let asked = timeout(ANSWER, self.exchange(method, path, body)).await;
        asked.context("no answer in time").and_then(|answer| answer).with_context(|| format!("{method} {path}"))
    }

    async fn exchange(&self, method: &str, path: &str, body: &str) -> Result<(u16, String)> {
        let mut stream = BufReader::new(TcpStream::connect(self.node).await?);
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.node,
            body.len()
        );
        stream.write_all(request.as_bytes()).await?;
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
        let Some(status) = status else { bail!("the connection ended without an answer") };
        let mut length = 0;
        loop {
            line.clear();
            if stream.read_line(&mut line).await? == 0 || line.trim_end().is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().context("a length that is none")?;
            }
        }
        let mut answer = vec![0; length];
        stream.read_exact(&mut answer).await?;
        Ok((status, String::from_utf8(answer)?))
    }
}
