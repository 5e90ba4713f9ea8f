//! A real RabbitMQ, seen through a plain client.

pub mod certificates;
mod frames;
mod node;
mod proxy;
pub mod raw;
mod sandbox;

pub use frames::Method;
pub use node::Node;
pub use proxy::{Down, Proxy};
pub use sandbox::Sandbox;

/// The variable that names the broker for the tests.
pub const URL_VARIABLE: &str = "REPRIEVE_TEST_RABBITMQ";

/// The broker's URL.
///
/// # Panics
/// Where the variable is not set: a test that cannot run has failed.
#[must_use]
pub fn url() -> String {
    std::env::var(URL_VARIABLE).unwrap_or_else(|_| {
        panic!("{URL_VARIABLE} is not set: run `cargo xtask test`, which finds or starts a RabbitMQ")
    })
}
