//! The Kafka driver on a real Kafka, and what these tests rely on. `cargo xtask test` finds or starts the broker.

mod consuming;
mod harness;
mod outcomes;
