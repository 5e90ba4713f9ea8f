//! As much of an HTTP client as the admin listener needs.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use crate::PATIENCE;

/// One request on a connection of its own: the answer's status and body.
pub(crate) fn exchange(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> (u16, String) {
    let mut stream = TcpStream::connect(address).expect("the admin listener takes connections");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time-out that is not zero");
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n"
    );
    stream.write_all(&[head.as_bytes(), body].concat()).expect("the request is taken");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer in UTF-8");
    let (head, body) = answer.split_once("\r\n\r\n").expect("an HTTP answer");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status code");
    (status, body.to_owned())
}
