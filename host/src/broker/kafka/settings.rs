//! How to reach a Kafka cluster.

use std::collections::BTreeMap;
use std::time::Duration;

use rdkafka::ClientConfig;

/// How to reach a Kafka cluster, and what may be done there.
#[derive(Clone)]
pub struct KafkaSettings {
    /// The broker's name in the configuration, for messages.
    pub name: String,
    /// `host:port` of the brokers to ask first, at least one.
    pub servers: Vec<String>,
    /// librdkafka's own settings by their names, for every client. Values may be secrets: they stay out of messages and logs.
    pub client: BTreeMap<String, String>,
    /// Create missing topics; otherwise they are only checked.
    pub declare: bool,
    /// How long a publish may take, its repetitions included, before it counts as failed.
    pub publish_timeout: Duration,
    /// How far the records in work of one partition may lie apart, in offsets; at least 1.
    pub window: u32,
}

impl KafkaSettings {
    /// The settings for one address, with everything else as by default: topics are created, 10 s for a publish, a window of
    /// 1,000 records.
    pub fn new(name: impl Into<String>, server: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            servers: vec![server.into()],
            client: BTreeMap::new(),
            declare: true,
            publish_timeout: Duration::from_secs(10),
            window: 1000,
        }
    }

    /// What every client begins with.
    pub(super) fn client_config(&self) -> ClientConfig {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", self.servers.join(",")).set("client.id", "reprieve");
        config.extend(self.client.iter().map(|(name, value)| (name.clone(), value.clone())));
        config
    }
}
