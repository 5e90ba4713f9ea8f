//! An HTTP handler that can misbehave in every way.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// Listens until the test's process ends.
pub(crate) struct Endpoint {
    pub(crate) address: SocketAddr,
    /// What was posted, whole.
    requests: Arc<Mutex<Vec<String>>>,
}

impl Endpoint {
    /// Each body says what becomes of it.
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("a bound listener has an address");
        let requests = Arc::<Mutex<Vec<String>>>::default();
        let seen = Arc::clone(&requests);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, seen) = (stream.expect("a connection"), Arc::clone(&seen));
                std::thread::spawn(move || serve(stream, &seen));
            }
        });
        Self { address, requests }
    }

    /// The requests so far.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().expect("nobody panics with it").clone()
    }
}

/// Answers one request, and closes the connection. Says so where it answers well, or the next request may be sent on it.
fn serve(mut stream: TcpStream, seen: &Mutex<Vec<String>>) {
    let Some(request) = read(&mut stream) else { return };
    let body = request.split_once("\r\n\r\n").map_or("", |(_, body)| body).to_owned();
    seen.lock().expect("nobody panics with it").push(request);
    let answer: &[u8] = match body.as_str() {
        "garbage" => b"\x00\xff\xfe\x16\x03 what is this?\r\n\r\n",
        "close" => b"",
        "break off" => b"HTTP/1.1 500 Oops\r\ncontent-length: 1000\r\n\r\nhalf an answ",
        "odd error" => {
            b"HTTP/1.1 599 \xff\xff\r\nconnection: close\r\nreprieve-error-kind: \xff \xfe\r\nretry-after: soon\r\n\
              content-type: application/problem+json\r\ncontent-length: 12\r\n\r\n\x00{\"type\x1b[31m"
        }
        // The host gives up on it long before this thread ends with the tests.
        "hang" => loop {
            std::thread::park();
        },
        "refuse" | "" => b"HTTP/1.1 422 Unprocessable Entity\r\nconnection: close\r\ncontent-length: 8\r\n\r\nno order",
        _ => b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n",
    };
    // A host that has given up has closed the connection.
    let _ = stream.write_all(answer);
}

/// The request, where the client stays until it is whole.
fn read(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length =
                head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
            if body.len() >= length.unwrap_or(0) {
                return Some(text.into_owned());
            }
        }
        match stream.read(&mut buffer) {
            Ok(count) if count > 0 => bytes.extend_from_slice(&buffer[..count]),
            _ => return None,
        }
    }
}
