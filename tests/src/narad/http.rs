//! As much of HTTP/1.1 as a client without tricks needs.

use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::api;
use super::cluster::Shared;

/// A request.
pub(super) struct Request {
    pub(super) method: String,
    /// Path and query as they came.
    pub(super) target: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl Request {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header, _)| header.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

/// An answer; `None` ends the connection instead.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
}

/// Takes connections until the node is down, which ends them all.
pub(super) async fn serve(listener: TcpListener, shared: Arc<Shared>, down: CancellationToken) {
    let mut connections = JoinSet::new();
    while let Some(Ok((stream, _))) = down.run_until_cancelled(listener.accept()).await {
        connections.spawn(connection(stream, Arc::clone(&shared)));
    }
    connections.shutdown().await;
}

async fn connection(mut stream: TcpStream, shared: Arc<Shared>) {
    let mut buffer = Vec::new();
    while let Some(request) = read(&mut stream, &mut buffer).await {
        // A client that leaves while it waits takes nothing with it.
        let answer = tokio::select! {
            answer = api::answer(&shared, &request) => answer,
            () = closed(&stream) => return,
        };
        let Some(answer) = answer else { return };
        if write(&mut stream, &answer).await.is_err() {
            return;
        }
    }
}

async fn closed(stream: &TcpStream) {
    let mut byte = [0];
    if matches!(stream.peek(&mut byte).await, Ok(1..)) {
        // It sends its next request early: it is there.
        std::future::pending::<()>().await;
    }
}

async fn read(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Request> {
    let head_end = loop {
        if let Some(end) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(buffer.drain(..head_end).collect()).ok()?;
    let mut lines = head.lines();
    let mut first = lines.next()?.split(' ');
    let (method, target) = (first.next()?.to_owned(), first.next()?.to_owned());
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
        .collect();
    let mut request = Request { method, target, headers, body: Vec::new() };
    let length: usize = request.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    while buffer.len() < length {
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
    request.body = buffer.drain(..length).collect();
    Some(request)
}

async fn write(stream: &mut TcpStream, answer: &Answer) -> std::io::Result<()> {
    let head = format!("HTTP/1.1 {} x\r\ncontent-length: {}\r\n\r\n", answer.status, answer.body.len());
    // A 204 has no length, and no body.
    let head = if answer.status == 204 { "HTTP/1.1 204 x\r\n\r\n".to_owned() } else { head };
    stream.write_all(head.as_bytes()).await?;
    if answer.status == 204 {
        return Ok(());
    }
    stream.write_all(&answer.body).await
}
