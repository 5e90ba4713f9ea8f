//! The Kafka driver on a real Kafka, and what these tests rely on. `cargo xtask test` finds or starts the broker.

mod harness;
mod outcomes;
