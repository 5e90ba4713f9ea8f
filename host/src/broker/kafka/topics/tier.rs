//! What the topic of a tier must be like: it has the only copy of the messages that wait there.

use std::time::Duration;

use humantime::format_duration;

use super::keeping::{is_compacted, number};
use crate::broker::kafka::cluster::TopicSettings;

const A_DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// How long beyond the delay a record is kept, at least: no host may be there when it is due.
const LEAST_MARGIN: Duration = A_DAY;
/// The same for topics that are created here.
const MARGIN: Duration = A_DAY.saturating_mul(14);

/// What a tier's topic is created with. Records are due by the broker's clock, so it stamps them.
pub(super) fn settings(delay: Duration) -> Vec<(&'static str, String)> {
    vec![
        ("cleanup.policy", "delete".to_owned()),
        ("message.timestamp.type", "LogAppendTime".to_owned()),
        ("retention.ms", millis(delay.saturating_add(MARGIN)).to_string()),
        ("retention.bytes", "-1".to_owned()),
    ]
}

/// What is wrong with a topic that is there, with the cure.
pub(super) fn check(topic: &str, delay: Duration, settings: &TopicSettings) -> Result<(), String> {
    let least = delay.saturating_add(LEAST_MARGIN);
    let text = |name: &str| settings.get(name).map(String::as_str);
    let (what, cure) = if is_compacted(settings) {
        ("it is compacted, which throws messages away that wait".to_owned(), "cleanup.policy=delete".to_owned())
    } else if text("message.timestamp.type").is_some_and(|kind| kind != "LogAppendTime") {
        (
            "its records have the times of their senders, by which none is due when it should be".to_owned(),
            "message.timestamp.type=LogAppendTime".to_owned(),
        )
    } else if let Some(kept) = number(settings, "retention.ms").filter(|kept| (0..millis(least)).contains(kept)) {
        let kept = format_duration(Duration::from_millis(kept.unsigned_abs()));
        (
            format!("it keeps records for {kept}, and they wait for {}", format_duration(delay)),
            format!("retention.ms={}", millis(delay.saturating_add(MARGIN))),
        )
    } else if number(settings, "retention.bytes").is_some_and(|bytes| bytes >= 0) {
        (
            "it throws the oldest records away when it is full (retention.bytes)".to_owned(),
            "retention.bytes=-1".to_owned(),
        )
    } else {
        return Ok(());
    };
    Err(format!(
        "topic '{topic}' cannot be a tier: {what}; alter it: kafka-configs.sh --alter --topic {topic} --add-config {cure}"
    ))
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIER: &str = "reprieve.tier.orders.30s";

    fn refused(name: &str, value: &str) -> String {
        let delay = Duration::from_secs(30);
        let mut made: TopicSettings =
            settings(delay).into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        made.insert(name.to_owned(), value.to_owned());
        check(TIER, delay, &made).err().unwrap_or_default()
    }

    #[test]
    fn a_topic_that_loses_what_waits_is_refused_with_the_cure() {
        for (name, value, cure) in [
            ("cleanup.policy", "compact,delete", "--add-config cleanup.policy=delete"),
            ("message.timestamp.type", "CreateTime", "--add-config message.timestamp.type=LogAppendTime"),
            ("retention.ms", "60000", "--add-config retention.ms=1209630000"),
            ("retention.bytes", "1000000", "--add-config retention.bytes=-1"),
        ] {
            let refused = refused(name, value);
            assert!(refused.contains(TIER) && refused.ends_with(cure), "{refused}");
        }
    }

    #[test]
    fn a_day_beyond_the_delay_is_enough_and_for_ever_too() {
        assert_eq!(refused("retention.ms", "86430000"), "");
        assert_ne!(refused("retention.ms", "86429999"), "");
        assert_eq!(refused("retention.ms", "-1"), "");
    }
}
