//! What an error of the producer means for a publish.

use rdkafka::error::{KafkaError, RDKafkaErrorCode as Code};

use crate::broker::PublishError;

/// The error may be another record's that went in the same batch.
pub(super) fn concerns_the_batch(error: &KafkaError) -> bool {
    matches!(
        error.rdkafka_error_code(),
        Some(
            Code::MessageSizeTooLarge
                | Code::MessageBatchTooLarge
                | Code::InvalidMessage
                | Code::InvalidMessageSize
                | Code::InvalidTimestamp
                | Code::InvalidRecord
                | Code::InvalidDifferentRecord
                | Code::PolicyViolation
        )
    )
}

/// The message's own failure where another message would pass; everything else concerns the route.
pub(super) fn failure(topic: &str, error: &KafkaError) -> PublishError {
    let Some(code) = error.rdkafka_error_code() else {
        return PublishError::Outage(format!("cannot publish to {topic}: {error}"));
    };
    match code {
        Code::MessageSizeTooLarge | Code::MessageBatchTooLarge => PublishError::TooLarge(format!(
            "the record is larger than topic {topic} or the producer allows (max.message.bytes of the topic, message.max.bytes of \
             the broker and of the settings)"
        )),
        Code::InvalidMessage
        | Code::InvalidMessageSize
        | Code::InvalidTimestamp
        | Code::InvalidRecord
        | Code::PolicyViolation => PublishError::Refused(format!("topic {topic} does not take the record: {code}")),
        Code::UnknownTopic | Code::UnknownTopicOrPartition | Code::UnknownPartition => PublishError::Outage(format!(
            "there is no topic {topic}: create it, or correct its name in the configuration"
        )),
        Code::TopicAuthorizationFailed | Code::ClusterAuthorizationFailed => PublishError::Outage(format!(
            "not allowed to publish to {topic}: let the user of this broker write there ({code})"
        )),
        Code::MessageTimedOut => PublishError::Outage(format!(
            "no broker confirmed a record for {topic} within `publish_timeout`: see that the cluster can be reached, and that enough \
             replicas of the topic are in sync"
        )),
        Code::QueueFull => {
            PublishError::Outage(format!("too much waits to be published already, so nothing more for {topic}"))
        }
        code => PublishError::Outage(format!("cannot publish to {topic}: {code}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(code: Code) -> &'static str {
        failure("orders.dlq", &KafkaError::MessageProduction(code)).kind()
    }

    #[test]
    fn what_concerns_one_message_does_not_stop_the_route() {
        for code in [Code::MessageSizeTooLarge, Code::MessageBatchTooLarge] {
            assert_eq!(kind(code), "too-large");
        }
        for code in [Code::InvalidRecord, Code::InvalidTimestamp, Code::InvalidMessage] {
            assert_eq!(kind(code), "refused");
        }
    }

    #[test]
    fn everything_else_is_an_outage() {
        for code in [Code::MessageTimedOut, Code::UnknownTopic, Code::NotEnoughReplicas, Code::Fatal, Code::QueueFull] {
            assert_eq!(kind(code), "outage");
        }
    }

    #[test]
    fn a_topic_that_is_missing_is_named_with_the_cure() {
        let text = failure("orders.dlq", &KafkaError::MessageProduction(Code::UnknownTopicOrPartition)).to_string();
        assert_eq!(text, "there is no topic orders.dlq: create it, or correct its name in the configuration");
    }
}
