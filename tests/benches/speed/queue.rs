//! Messages a second from a broker through a route, beside a bare client that does the same work with the same settings: as
//! many messages under way, the same publishes with their confirms, and the same acks or commits.

pub(crate) mod journal;
pub(crate) mod kafka;
pub(crate) mod rabbitmq;

mod path;
mod rounds;
mod through_route;

/// Messages under way at a time.
const CONCURRENCY: u16 = 32;
