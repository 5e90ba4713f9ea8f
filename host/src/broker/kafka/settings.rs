//! How to reach a Kafka cluster.

mod check;
mod names;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::config::RDKafkaLogLevel;

pub use self::check::{SettingProblem, check_setting};
pub(crate) use self::names::NAMES;

/// librdkafka's own, where nobody changed it.
const MAX_POLL_INTERVAL: Duration = Duration::from_secs(300);

/// How to reach a Kafka cluster, and what may be done there.
#[derive(Clone)]
pub struct KafkaSettings {
    /// The broker's name in the configuration, for messages.
    pub name: String,
    /// `host:port` of the brokers to ask first, at least one.
    pub servers: Vec<String>,
    /// librdkafka's own settings by their names, for every client, but for those that [`check_setting`] refuses. Values may be
    /// secrets: they stay out of messages and logs.
    pub client: BTreeMap<String, String>,
    /// Create missing topics; otherwise they are only checked.
    pub declare: bool,
    /// How long a publish may take, its repetitions included, before it counts as failed.
    pub publish_timeout: Duration,
    /// How far the records in work of one partition may lie apart, in offsets; at least 1.
    pub window: u32,
}

impl KafkaSettings {
    /// How long a publish may take where nothing else is said.
    pub const DEFAULT_PUBLISH_TIMEOUT: Duration = Duration::from_secs(10);
    /// How far the records in work may lie apart where nothing else is said.
    pub const DEFAULT_WINDOW: u32 = 1000;

    /// The settings for one address, with everything else as by default: topics are created, 10 s for a publish, a window of
    /// 1,000 records.
    pub fn new(name: impl Into<String>, server: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            servers: vec![server.into()],
            client: BTreeMap::new(),
            declare: true,
            publish_timeout: Self::DEFAULT_PUBLISH_TIMEOUT,
            window: Self::DEFAULT_WINDOW,
        }
    }

    /// What every client begins with.
    pub(super) fn client_config(&self) -> ClientConfig {
        let mut config = self.unconnected_config();
        config.set("bootstrap.servers", self.servers.join(","));
        config
    }

    /// The same without an address, for a client that only shows whether the settings can be used.
    pub(super) fn unconnected_config(&self) -> ClientConfig {
        let mut config = ClientConfig::new();
        let is_debugged = tracing::enabled!(target: "librdkafka", tracing::Level::DEBUG);
        config.set_log_level(if is_debugged { RDKafkaLogLevel::Debug } else { RDKafkaLogLevel::Info });
        config.set("client.id", "reprieve");
        // The first failed connection says enough, and idle ones are closed by the broker all the time.
        config.set("log.connection.close", "false");
        config.extend(self.client.iter().map(|(name, value)| (name.clone(), value.clone())));
        config
    }

    /// What the producer begins with: rule 2, and batches that are not waited for.
    pub(super) fn producer_config(&self) -> ClientConfig {
        let mut config = self.client_config();
        let mut default = |names: &[&str], value: &str| {
            if !names.iter().any(|name| self.client.contains_key(*name)) {
                config.set(names[0], value);
            }
        };
        default(&["linger.ms", "queue.buffering.max.ms"], "1");
        // A key stays on the partition where the clients of the JVM put it.
        default(&["partitioner"], "murmur2_random");
        // How large a record may be is the topic's affair; one that is larger than a batch goes alone.
        default(&["message.max.bytes"], "1000000000");
        default(&["batch.size"], "262144");
        // A topic that is not there must be known before the publish is given up.
        let unknown = (self.publish_timeout / 2).min(Duration::from_secs(5)).as_millis().max(1);
        default(&["topic.metadata.propagation.max.ms"], &unknown.to_string());
        config.set("acks", "all").set("enable.idempotence", "true").set("delivery.report.only.error", "false");
        config.set("message.timeout.ms", self.publish_timeout.as_millis().max(1).to_string());
        config
    }

    /// After how long without a question the broker takes a consumer's partitions away.
    pub(super) fn max_poll_interval(&self) -> Duration {
        let written = self.client.get("max.poll.interval.ms").and_then(|text| text.trim().parse().ok());
        written.map_or(MAX_POLL_INTERVAL, Duration::from_millis)
    }
}

/// Without the values of settings, which may be secrets.
impl fmt::Debug for KafkaSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KafkaSettings")
            .field("name", &self.name)
            .field("servers", &self.servers)
            .field("client", &self.client.keys())
            .field("declare", &self.declare)
            .field("publish_timeout", &self.publish_timeout)
            .field("window", &self.window)
            .finish()
    }
}
