//! Which of librdkafka's settings may be given, and with which values.

use rdkafka::ClientConfig;
use rdkafka::error::KafkaError;
use rdkafka::types::RDKafkaConfRes;

/// What is wrong with a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingProblem {
    /// librdkafka knows no setting of this name.
    Unknown,
    /// It is set by Reprieve. The text says why, or what to set instead.
    Owned(&'static str),
    /// librdkafka does not take the value. Its words may repeat it.
    Invalid(String),
}

/// Whether a setting can be given, by what librdkafka itself says of its name and value. What depends on other settings, such as a
/// missing user name, is only seen when a client is made.
///
/// # Errors
/// What is wrong with it.
pub fn check_setting(name: &str, value: &str) -> Result<(), SettingProblem> {
    if let Some((_, why)) = OWNED.iter().find(|(names, _)| names.contains(&name)) {
        return Err(SettingProblem::Owned(why));
    }
    let mut config = ClientConfig::new();
    config.set(name, value);
    match config.create_native_config() {
        Ok(_) => Ok(()),
        Err(KafkaError::ClientConfig(RDKafkaConfRes::RD_KAFKA_CONF_UNKNOWN, ..)) => Err(SettingProblem::Unknown),
        Err(KafkaError::ClientConfig(_, words, ..)) => Err(SettingProblem::Invalid(words.trim_end().to_owned())),
        Err(KafkaError::Nul(_)) => Err(SettingProblem::Invalid("it has a NUL character".to_owned())),
        Err(other) => Err(SettingProblem::Invalid(other.to_string())),
    }
}

const COMMITS: &str = "a position is committed once every record below it is decided, and never before";
const CONFIRMED: &str = "a message counts as published once every replica in sync has it, and once only";
const REPORTS: &str = "each publish needs its report";
const TRANSACTIONS: &str = "messages are published one by one, and the position is committed after them";
const GROUP: &str = "write `group` on the route instead";
const PROTOCOL: &str = "consumers use the classic protocol, since librdkafka takes `partition.assignment.strategy`, \
                        `session.timeout.ms` and `heartbeat.interval.ms` with no other; set those instead";
const SERVERS: &str = "write `servers` on the broker instead";
const TIMEOUT: &str = "write `publish_timeout` on the broker instead";
const CALLBACK: &str = "it is for programs that embed librdkafka";

/// What rules of settlement depend on, or what has a key of its own.
const OWNED: &[(&[&str], &str)] = &[
    (&["bootstrap.servers", "metadata.broker.list"], SERVERS),
    (&["group.id"], GROUP),
    (
        &["group.instance.id"],
        "every route and host that shares these settings would be taken for the same member of its group",
    ),
    (
        &[
            "enable.auto.commit",
            "auto.commit.enable",
            "auto.commit.interval.ms",
            "enable.auto.offset.store",
            "offset.store.method",
            "offset.store.path",
            "offset.store.sync.interval.ms",
        ],
        COMMITS,
    ),
    (&["acks", "request.required.acks", "enable.idempotence", "enable.gapless.guarantee"], CONFIRMED),
    (&["delivery.report.only.error", "enable.partition.eof", "produce.offset.report"], REPORTS),
    (&["group.protocol", "group.remote.assignor"], PROTOCOL),
    (&["transactional.id", "transaction.timeout.ms"], TRANSACTIONS),
    (&["message.timeout.ms", "delivery.timeout.ms"], TIMEOUT),
    (
        &["allow.auto.create.topics"],
        "write `declare` on the broker instead: topics that a route needs are created with fit settings",
    ),
    (
        &[
            "background_event_cb",
            "closesocket_cb",
            "connect_cb",
            "consume_cb",
            "default_topic_conf",
            "dr_cb",
            "dr_msg_cb",
            "enabled_events",
            "error_cb",
            "interceptors",
            "log.queue",
            "log_cb",
            "msg_order_cmp",
            "oauthbearer_token_refresh_cb",
            "offset_commit_cb",
            "opaque",
            "open_cb",
            "partitioner_cb",
            "rebalance_cb",
            "resolve_cb",
            "socket_cb",
            "ssl.certificate.verify_cb",
            "ssl_ca",
            "ssl_certificate",
            "ssl_engine_callback_data",
            "ssl_key",
            "stats_cb",
            "throttle_cb",
        ],
        CALLBACK,
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::broker::kafka::settings::NAMES;

    #[test]
    fn settings_of_consumers_and_producers_pass_alike() {
        for (name, value) in [
            ("session.timeout.ms", "6000"),
            ("compression.type", "zstd"),
            ("fetch.min.bytes", "1"),
            ("security.protocol", "sasl_ssl"),
            ("sasl.mechanism", "SCRAM-SHA-512"),
            ("ssl.ca.location", "/etc/ssl/ca.pem"),
        ] {
            assert_eq!(check_setting(name, value), Ok(()), "{name}");
        }
    }

    #[test]
    fn what_librdkafka_does_not_know_is_unknown() {
        for name in ["sasl.pasword", "", "Sasl.Password"] {
            assert_eq!(check_setting(name, "x"), Err(SettingProblem::Unknown), "{name:?}");
        }
    }

    #[test]
    fn a_value_that_librdkafka_does_not_take_is_invalid() {
        for (name, value) in [("session.timeout.ms", "soon"), ("compression.type", "best"), ("client.id", "a\0b")] {
            assert!(matches!(check_setting(name, value), Err(SettingProblem::Invalid(_))), "{name}");
        }
    }

    #[test]
    fn what_the_rules_depend_on_is_not_for_others_to_set() {
        for name in
            ["enable.auto.commit", "acks", "enable.idempotence", "group.id", "transactional.id", "message.timeout.ms"]
        {
            assert!(matches!(check_setting(name, "1"), Err(SettingProblem::Owned(_))), "{name}");
        }
    }

    #[test]
    fn the_group_protocol_that_gives_no_last_commit_is_refused_with_what_to_set_instead() {
        for (name, value) in
            [("group.protocol", "consumer"), ("group.protocol", "classic"), ("group.remote.assignor", "x")]
        {
            let Err(SettingProblem::Owned(why)) = check_setting(name, value) else { panic!("{name}") };
            assert!(why.contains("`partition.assignment.strategy`"), "{why}");
            assert!(!NAMES.contains(&name), "it is not proposed");
        }
    }

    #[test]
    fn every_name_that_is_proposed_is_one_that_librdkafka_knows_and_nobody_else_owns() {
        for name in NAMES {
            assert!(matches!(check_setting(name, "x"), Ok(()) | Err(SettingProblem::Invalid(_))), "{name}");
        }
    }
}
