//! A client that puts on the wire what no client library would.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const METHOD: u8 = 1;
const CONTENT_HEADER: u8 = 2;
const BODY: u8 = 3;
const FRAME_END: u8 = 0xce;

/// Puts a message on a queue whose content header has these flags and these properties, encoded by the caller. Comes
/// back when the broker has confirmed it.
///
/// # Panics
/// Where the broker does not take it.
pub async fn put(queue: &str, flags: u16, properties: &[u8], body: &[u8]) {
    let url = super::url();
    let mut stream = TcpStream::connect(super::proxy::host_and_port(&url)).await.expect("a broker");
    stream.write_all(b"AMQP\0\0\x09\x01").await.expect("a connection");
    answer(&mut stream, [10, 10]).await;
    // Without client properties, as PLAIN, in any language.
    let login = [&[0, 0, 0, 0][..], &short(b"PLAIN"), &long(b"\0guest\0guest"), &short(b"en_US")].concat();
    send(&mut stream, 0, [10, 11], &login).await;
    answer(&mut stream, [10, 30]).await;
    // 2047 channels, frames of 128 KiB, no heartbeat.
    send(&mut stream, 0, [10, 31], &[7, 255, 0, 2, 0, 0, 0, 0]).await;
    send(&mut stream, 0, [10, 40], &[&short(b"/")[..], &[0, 0]].concat()).await;
    answer(&mut stream, [10, 41]).await;
    send(&mut stream, 1, [20, 10], &[0]).await;
    answer(&mut stream, [20, 11]).await;
    send(&mut stream, 1, [85, 10], &[0]).await;
    answer(&mut stream, [85, 11]).await;
    send(&mut stream, 1, [60, 40], &[&[0, 0, 0][..], &short(queue.as_bytes()), &[0]].concat()).await;
    let mut header = vec![0, 60, 0, 0];
    header.extend(u64::try_from(body.len()).expect("a body").to_be_bytes());
    header.extend(flags.to_be_bytes());
    header.extend(properties);
    frame(&mut stream, CONTENT_HEADER, 1, &header).await;
    frame(&mut stream, BODY, 1, body).await;
    answer(&mut stream, [60, 80]).await;
}

/// A value in `depth` arrays.
#[must_use]
pub fn nested_arrays(depth: usize) -> Vec<u8> {
    // From the inside: each array holds the one made before it.
    let lengths = (0..depth).map(|inside| u32::try_from(5 * inside).expect("a frame's length"));
    lengths.rev().flat_map(|length| [&b"A"[..], &length.to_be_bytes()].concat()).collect()
}

/// A header table with one field, of an encoded value.
#[must_use]
pub fn table(name: &[u8], value: &[u8]) -> Vec<u8> {
    long(&[&short(name)[..], value].concat())
}

fn short(bytes: &[u8]) -> Vec<u8> {
    [&[u8::try_from(bytes.len()).expect("a short string")], bytes].concat()
}

fn long(bytes: &[u8]) -> Vec<u8> {
    [&u32::try_from(bytes.len()).expect("a long string").to_be_bytes(), bytes].concat()
}

async fn send(stream: &mut TcpStream, channel: u8, [class, method]: [u8; 2], arguments: &[u8]) {
    frame(stream, METHOD, channel, &[&[0, class, 0, method], arguments].concat()).await;
}

async fn frame(stream: &mut TcpStream, kind: u8, channel: u8, payload: &[u8]) {
    let frame = [&[kind, 0, channel], &long(payload)[..], &[FRAME_END]].concat();
    stream.write_all(&frame).await.expect("a connection that stands");
}

/// Waits for this method of the broker.
async fn answer(stream: &mut TcpStream, [class, method]: [u8; 2]) {
    let mut head = [0; 7];
    stream.read_exact(&mut head).await.expect("an answer");
    let length = u32::from_be_bytes([head[3], head[4], head[5], head[6]]);
    let mut payload = vec![0; usize::try_from(length).expect("a length") + 1];
    stream.read_exact(&mut payload).await.expect("a whole answer");
    assert_eq!(payload[..4], [0, class, 0, method], "{}", String::from_utf8_lossy(&payload));
}
