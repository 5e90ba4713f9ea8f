//! A stream of bytes to the broker, as the client library reads and writes it.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_io::{AsyncRead, AsyncWrite};
use tokio::io::{AsyncRead as TokioRead, AsyncWrite as TokioWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::dial::SpeaksTls;
use super::inspection::Inspection;

/// The first byte of a TLS alert, and of a handshake. No AMQP frame begins with either.
const TLS_RECORDS: [u8; 2] = [21, 22];

/// What carries the bytes: TCP, or TLS over it.
trait Carrier: TokioRead + TokioWrite + Send + Unpin {}

impl<C: TokioRead + TokioWrite + Send + Unpin> Carrier for C {}

/// A connected stream.
pub(in crate::broker::rabbitmq) struct Stream {
    carrier: Box<dyn Carrier>,
    inspection: Inspection,
    /// Nothing has come yet on a connection without TLS.
    unopened: bool,
    /// The library has a thread for each stream, which waits for as long as nothing comes. This ends it.
    given_up: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl Stream {
    /// A stream over TCP. It ends when `given_up` is cancelled, at the latest.
    pub(super) fn plain(tcp: TcpStream, given_up: CancellationToken) -> Self {
        Self { unopened: true, ..Self::over_tls(tcp, given_up) }
    }

    /// A stream over something that is known to be what it should be.
    pub(super) fn over_tls(
        carrier: impl TokioRead + TokioWrite + Send + Unpin + 'static,
        given_up: CancellationToken,
    ) -> Self {
        Self {
            carrier: Box::new(carrier),
            unopened: false,
            inspection: Inspection::default(),
            given_up: Box::pin(given_up.cancelled_owned()),
        }
    }

    /// Reads what is there into `buffer`.
    fn poll_carrier(&mut self, context: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut buffer = ReadBuf::new(buffer);
        ready!(Pin::new(&mut self.carrier).poll_read(context, &mut buffer))?;
        let filled = buffer.filled();
        if self.unopened && !filled.is_empty() {
            self.unopened = false;
            if TLS_RECORDS.contains(&filled[0]) {
                return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, SpeaksTls)));
            }
        }
        Poll::Ready(Ok(filled.len()))
    }
}

impl AsyncRead for Stream {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut [u8]) -> Poll<io::Result<usize>> {
        if self.given_up.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        if buffer.is_empty() {
            return Poll::Ready(Ok(0));
        }
        loop {
            let ready = self.inspection.hand_out(buffer);
            if ready > 0 {
                return Poll::Ready(Ok(ready));
            }
            if let Some(missing) = self.inspection.missing() {
                let mut chunk = [0; 8 * 1024];
                let room = missing.min(chunk.len());
                let count = ready!(self.poll_carrier(context, &mut chunk[..room]))?;
                if count == 0 {
                    return Poll::Ready(self.inspection.ended().map(|()| 0));
                }
                self.inspection.take(&chunk[..count]);
                continue;
            }
            let count = ready!(self.poll_carrier(context, buffer))?;
            let passed = self.inspection.look(&mut buffer[..count]);
            if passed > 0 || count == 0 {
                return Poll::Ready(Ok(passed));
            }
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.carrier).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.carrier).poll_write_vectored(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.carrier).poll_flush(context)
    }

    fn poll_close(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.carrier).poll_shutdown(context)
    }
}
