//! librdkafka's own log, among the host's.

use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::KafkaError;

/// What librdkafka logs as an error is a connection that it makes anew by itself; the host says itself what that costs.
pub(super) fn line(broker: &str, level: RDKafkaLogLevel, facility: &str, text: &str) {
    // Every client gets the settings of every kind of client.
    if facility == "CONFWARN" {
        tracing::debug!(target: "librdkafka", broker, facility, "{text}");
        return;
    }
    match level {
        RDKafkaLogLevel::Emerg | RDKafkaLogLevel::Alert | RDKafkaLogLevel::Critical => {
            tracing::error!(target: "librdkafka", broker, facility, "{text}");
        }
        RDKafkaLogLevel::Error | RDKafkaLogLevel::Warning => {
            tracing::warn!(target: "librdkafka", broker, facility, "{text}");
        }
        RDKafkaLogLevel::Notice | RDKafkaLogLevel::Info => {
            tracing::info!(target: "librdkafka", broker, facility, "{text}");
        }
        RDKafkaLogLevel::Debug => tracing::debug!(target: "librdkafka", broker, facility, "{text}"),
    }
}

/// What librdkafka says of a client's state beside its log, which has it too.
pub(super) fn error(broker: &str, error: &KafkaError, reason: &str) {
    tracing::debug!(target: "librdkafka", broker, %error, "{reason}");
}
