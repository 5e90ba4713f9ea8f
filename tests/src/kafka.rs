//! A real Kafka, seen through a plain client.

mod groups;
mod record;
mod sandbox;

use std::time::Duration;

pub use record::Record;
pub use reprieve_kafka_node::{Node, Proxied, Settings, free_ports};
pub use sandbox::Sandbox;

/// The variable that names the broker for the tests.
pub const ADDRESS_VARIABLE: &str = "REPRIEVE_TEST_KAFKA";

/// No test waits longer for anything. It is reached only where something is broken.
const DEADLINE: Duration = Duration::from_secs(40);

/// The broker's `host:port`.
///
/// # Panics
/// Where the variable is not set: a test that cannot run has failed.
#[must_use]
pub fn address() -> String {
    std::env::var(ADDRESS_VARIABLE).unwrap_or_else(|_| {
        panic!("{ADDRESS_VARIABLE} is not set: run `cargo xtask test`, which finds or starts a Kafka")
    })
}
