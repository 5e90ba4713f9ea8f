//! The `[brokers.NAME]` sections.

use super::SecretUrl;

/// A broker that routes can name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BrokerConfig {
    /// `kind = "memory"`: queues in this process, gone when it ends.
    Memory(MemoryConfig),
    /// `kind = "rabbitmq"`.
    RabbitMq(RabbitMqConfig),
}

/// A broker in this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryConfig {
    /// The messages that one queue holds at most. More than zero.
    pub capacity: usize,
}

/// A connection to RabbitMQ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RabbitMqConfig {
    /// `amqp://user:password@host:port/vhost`.
    pub url: SecretUrl,
    /// Create missing queues and exchanges; otherwise they are only checked.
    pub declare: bool,
}
