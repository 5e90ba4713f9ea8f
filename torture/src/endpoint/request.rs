//! What a host posts.

use anyhow::{Context as _, Result};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};

/// What matters of one request.
pub(super) struct Request {
    pub(super) host: usize,
    pub(super) id: String,
    pub(super) attempt: u32,
}

impl Request {
    /// The next one, with its body taken off the stream; none where the other side has closed.
    pub(super) async fn read<S: AsyncRead + Unpin>(stream: &mut BufReader<S>) -> Result<Option<Self>> {
        let mut line = String::new();
        if stream.read_line(&mut line).await? == 0 {
            return Ok(None);
        }
        let path = line.split(' ').nth(1).and_then(|path| path.strip_prefix('/'));
        let host = path.and_then(|path| path.parse().ok()).context("a path that is no host's")?;
        let (mut id, mut attempt, mut length) = (None, None, 0);
        loop {
            line.clear();
            if stream.read_line(&mut line).await? == 0 {
                return Ok(None);
            }
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            let value = value.trim_start();
            match name {
                "reprieve-id" => id = Some(value.to_owned()),
                "reprieve-attempt" => attempt = value.parse().ok(),
                "content-length" => length = value.parse().context("a length that is none")?,
                _ => {}
            }
        }
        tokio::io::copy(&mut (&mut *stream).take(length), &mut tokio::io::sink()).await?;
        Ok(Some(Self { host, id: id.unwrap_or_default(), attempt: attempt.context("a request without an attempt")? }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn requests_are_read_one_after_another() {
        let one = "POST /2 HTTP/1.1\r\nhost: here\r\nreprieve-id: t-1\r\nreprieve-attempt: 3\r\nempty: \r\ncontent-length: 4\r\n\r\nbody";
        let two = [one, one].concat();
        let mut stream = BufReader::new(two.as_bytes());
        for _ in 0..2 {
            let request = Request::read(&mut stream).await.unwrap().unwrap();
            assert_eq!((request.host, request.id.as_str(), request.attempt), (2, "t-1", 3));
        }
        assert!(Request::read(&mut stream).await.unwrap().is_none());
    }
}
