//! Apache Kafka, through librdkafka.
//!
//! * `settings`: how to reach it. `tiers`: what the topics of delays are called.
//! * `convert`: records to messages and back.

mod convert;
mod settings;
mod tiers;

pub use self::settings::KafkaSettings;
