//! The way to the broker that the client library is given: TCP or TLS, with an eye on what comes in.
//!
//! * `dial`: from an address to a stream, bounded in time. `tls`: what to trust, who we are, and what went wrong.
//! * `stream`: bytes both ways. `inspection`: what the client library must not see as it came.
//! * `kit`: the shape that the library wants a stream in.

mod dial;
mod inspection;
mod kit;
mod stream;
mod tls;

pub(super) use dial::{DialError, dial};
pub(super) use kit::connect;
pub(super) use stream::Stream;
pub(super) use tls::Tls;
