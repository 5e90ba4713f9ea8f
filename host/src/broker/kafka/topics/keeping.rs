//! Whether a topic keeps what is published to it.

use std::time::Duration;

use humantime::format_duration;

use super::tier;
use crate::broker::kafka::cluster::TopicSettings;

/// What a topic must keep, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keeping {
    /// Until somebody has looked at them.
    DeadLetters,
    /// As its owner wants it: messages were there before.
    Origin,
    /// For this delay and as long as no host may be there.
    Tier(Duration),
}

impl Keeping {
    pub(super) const fn noun(self) -> &'static str {
        match self {
            Self::DeadLetters => "for dead letters",
            Self::Origin => "the origin",
            Self::Tier(_) => "a tier",
        }
    }

    /// What the topic is created with.
    pub(super) fn settings(self) -> Vec<(&'static str, String)> {
        match self {
            // How long they are of use nobody here can know.
            Self::DeadLetters => vec![("cleanup.policy", "delete".to_owned()), ("retention.ms", "-1".to_owned())],
            Self::Origin => Vec::new(),
            Self::Tier(delay) => tier::settings(delay),
        }
    }

    /// How to create it by hand, to be put behind "create it".
    pub(super) fn recipe(self) -> String {
        let settings = self.settings();
        let settings: Vec<_> = settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
        if settings.is_empty() { String::new() } else { format!(" with {}", settings.join(", ")) }
    }

    /// What makes it throw messages away, in words with the cure.
    pub(super) fn check(self, topic: &str, settings: &TopicSettings) -> Result<(), String> {
        match self {
            // Of two with one key it would keep the last, and without a key it takes none: both are losses (rule 2).
            Self::DeadLetters if is_compacted(settings) => Err(format!(
                "topic '{topic}' is compacted, so that a dead letter would take the place of an earlier one with the same key: set \
                 its cleanup.policy to delete, or name another topic"
            )),
            Self::DeadLetters | Self::Origin => Ok(()),
            Self::Tier(delay) => tier::check(topic, delay, settings),
        }
    }

    /// What an operator should know of it.
    pub(super) fn doubts(self, topic: &str, settings: &TopicSettings) -> Vec<String> {
        let mut doubts = Vec::new();
        if matches!(self, Self::DeadLetters) {
            if let Some(kept) = number(settings, "retention.ms").and_then(|millis| u64::try_from(millis).ok()) {
                let kept = format_duration(Duration::from_millis(kept));
                doubts.push(format!("topic '{topic}' throws dead letters away after {kept} (retention.ms)"));
            }
            if let Some(bytes) = number(settings, "retention.bytes").filter(|bytes| *bytes >= 0) {
                doubts.push(format!(
                    "topic '{topic}' throws the oldest dead letters away once a partition has more than {bytes} bytes (retention.bytes)"
                ));
            }
        }
        if settings.get("unclean.leader.election.enable").is_some_and(|value| value == "true") {
            doubts.push(format!(
                "topic '{topic}' may lose confirmed messages when a broker fails (unclean.leader.election.enable)"
            ));
        }
        doubts
    }
}

pub(super) fn is_compacted(settings: &TopicSettings) -> bool {
    settings.get("cleanup.policy").is_some_and(|policy| policy.split(',').any(|part| part.trim() == "compact"))
}

pub(super) fn number(settings: &TopicSettings, name: &str) -> Option<i64> {
    settings.get(name)?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(pairs: &[(&str, &str)]) -> TopicSettings {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_compacted_topic_takes_no_dead_letters_and_gives_them_back() {
        for policy in ["compact", "compact,delete", "delete, compact"] {
            let compacted = settings(&[("cleanup.policy", policy)]);
            let refused = Keeping::DeadLetters.check("orders.dlq", &compacted).unwrap_err();
            assert!(refused.contains("'orders.dlq' is compacted") && refused.contains("cleanup.policy"), "{refused}");
            assert_eq!(Keeping::Origin.check("orders", &compacted), Ok(()));
        }
    }

    #[test]
    fn what_is_thrown_away_later_is_said() {
        let week = settings(&[("retention.ms", "604800000"), ("retention.bytes", "-1")]);
        assert_eq!(
            Keeping::DeadLetters.doubts("orders.dlq", &week),
            ["topic 'orders.dlq' throws dead letters away after 7days (retention.ms)"]
        );
        assert!(Keeping::Origin.doubts("orders", &week).is_empty());
        let one = settings(&[
            ("retention.ms", "-1"),
            ("retention.bytes", "1000"),
            ("unclean.leader.election.enable", "true"),
        ]);
        assert_eq!(Keeping::DeadLetters.doubts("orders.dlq", &one).len(), 2);
    }

    #[test]
    fn what_is_created_passes_its_own_check() {
        for keeping in [Keeping::DeadLetters, Keeping::Tier(Duration::from_secs(30)), Keeping::Tier(Duration::MAX)] {
            let made = keeping.settings().into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
            assert_eq!(keeping.check("t", &made), Ok(()), "{keeping:?}");
        }
    }
}
