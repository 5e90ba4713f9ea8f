//! Apache Kafka, through librdkafka.
//!
//! * `settings`: how to reach it. `tiers`: what the topics of delays are called.
//! * `consumer`: takes records and commits what is decided.
//! * `convert`: records to messages and back.

mod consumer;
mod convert;
mod settings;
mod tiers;

pub use self::settings::KafkaSettings;
