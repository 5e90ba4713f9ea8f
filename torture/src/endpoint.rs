//! The handler that the hosts call: HTTP/1.1, written by hand, since it has to misbehave.

mod request;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

use crate::books::{Books, number};
use crate::script::{Answer, answer};
use request::Request;

/// Far longer than any host waits for an answer.
const LONGEST_HANG: Duration = Duration::from_secs(60);

/// An endpoint that listens until it is dropped. Each host calls a path of its own.
pub(crate) struct Endpoint {
    address: SocketAddr,
    accepting: AbortHandle,
}

impl Endpoint {
    pub(crate) async fn start(seed: u64, books: Arc<Books>) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.context("the handler finds no free port")?;
        let address = listener.local_addr()?;
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let books = Arc::clone(&books);
                tokio::spawn(async move {
                    if let Err(error) = serve(stream, seed, &books).await {
                        eprintln!("torture: handler: {error:#}");
                    }
                });
            }
        });
        Ok(Self { address, accepting: accepting.abort_handle() })
    }

    /// The URL for the host of this number.
    pub(crate) fn url(&self, host: usize) -> String {
        format!("http://{}/{host}", self.address)
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn serve(stream: TcpStream, seed: u64, books: &Books) -> Result<()> {
    stream.set_nodelay(true)?;
    let mut stream = BufReader::new(stream);
    while let Some(request) = Request::read(&mut stream).await? {
        let place = books.asked(&request.id, request.host, request.attempt);
        let answer = number(&request.id).map_or(Answer::Close, |number| answer(seed, number, request.attempt));
        let note = |word, succeeded| {
            if let Some(place) = place {
                books.answered(&request.id, place, word, succeeded);
            }
        };
        match answer {
            Answer::Success(after) => {
                tokio::time::sleep(after).await;
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await?;
                note("success", true);
            }
            Answer::Failure { status, kind, text, retry_after } => {
                // Before the other side can act on it: a policy may drop the message for this.
                note(kind, false);
                stream.write_all(&failure(status, kind, text, retry_after)).await?;
            }
            Answer::Hang => {
                // Whatever comes of it, the other side has gone away.
                let _ = tokio::time::timeout(LONGEST_HANG, stream.read_u8()).await;
                note("hangs", false);
                return Ok(());
            }
            Answer::Close => {
                note("closes", false);
                return Ok(());
            }
        }
    }
    Ok(())
}

fn failure(status: u16, kind: &str, text: usize, retry_after: Option<u8>) -> Vec<u8> {
    let retry_after = retry_after.map(|seconds| format!("retry-after: {seconds}\r\n")).unwrap_or_default();
    let head = format!(
        "HTTP/1.1 {status} Failed\r\nreprieve-error-kind: {kind}\r\n{retry_after}content-length: {text}\r\n\r\n"
    );
    let mut answer = head.into_bytes();
    answer.resize(answer.len() + text, b'e');
    answer
}
