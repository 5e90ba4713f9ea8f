//! A stand-in for a Narad cluster, which fails when it is told to.
//!
//! It answers as Narad's own documentation says that Narad does. It is no Narad: what was only seen here is not proved.
//!
//! * `cluster`: what tests see. `topics`: all of them, and the `journal` that may keep them; `topic`: logs and leases; `counts`.
//! * `api`: what each request does. `http`: how it comes in.
//! * `faults`: what goes wrong, and when.

mod api;
mod cluster;
mod counts;
mod faults;
mod http;
mod journal;
mod topic;
mod topics;

pub use cluster::{Cluster, Release, Seen};
pub use faults::{Fault, On};

/// Posts JSON to a node, also to a real one. Gives the status.
///
/// # Panics
/// Nothing answers there.
pub async fn post(url: &str, path: &str, body: &str) -> u16 {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let host = url.trim_start_matches("http://").trim_end_matches('/');
    let mut stream = tokio::net::TcpStream::connect(host).await.expect("a node");
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.expect("a node that reads");
    let mut head = [0; 12];
    stream.read_exact(&mut head).await.expect("an answer");
    String::from_utf8_lossy(&head[9..]).parse().expect("a status")
}
