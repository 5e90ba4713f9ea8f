//! Whether a broker is there, without a client library.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

/// The request for the versions that a broker speaks, in its oldest form: key 18, version 0, a number of our own, no client's
/// name.
const REQUEST: [u8; 14] = [0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 42, 0xff, 0xff];
/// Behind the answer's length: our number again, and no error.
const ANSWER: [u8; 6] = [0, 0, 0, 42, 0, 0];

/// Whether a Kafka broker takes requests on this port of 127.0.0.1. A node that is starting does not yet.
#[must_use]
pub fn answers(port: u16) -> bool {
    let greeting = || -> std::io::Result<[u8; 10]> {
        let timeout = Duration::from_secs(2);
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let mut stream = TcpStream::connect_timeout(&address, timeout)?;
        stream.set_read_timeout(Some(timeout))?;
        stream.write_all(&REQUEST)?;
        let mut start = [0; 10];
        stream.read_exact(&mut start)?;
        Ok(start)
    };
    greeting().is_ok_and(|start| start[4..] == ANSWER)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn who_answers_otherwise_is_no_broker() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = std::thread::spawn(move || {
            for answer in [&b"HTTP/1.1 400 Bad Request"[..], &[0, 0, 0, 6, 0, 0, 0, 42, 0, 0]] {
                let (mut stream, _) = listener.accept().unwrap();
                stream.read_exact(&mut [0; 14]).unwrap();
                stream.write_all(answer).unwrap();
            }
        });
        assert!(!answers(port));
        assert!(answers(port));
        server.join().unwrap();
        assert!(!answers(port), "nobody listens any more");
    }
}
