//! What the settings of a queue mean for the messages in it.

use crate::broker::rabbitmq::queue_facts::QueueFacts;

/// The major version that came with a delivery limit on every quorum queue, and how high it is.
const LIMITED_SINCE: u64 = 4;
const DEFAULT_LIMIT: i64 = 20;

/// How often a quorum queue takes a message back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Limit {
    /// As often as it is handed back.
    None,
    /// Not more often than this.
    Set { times: i64, title: String },
    /// A policy or the broker's version may set one, and neither was seen.
    Unknown,
}

/// The delivery limit of a queue on a broker of this version.
pub(super) fn delivery_limit(facts: &QueueFacts, major_version: Option<u64>) -> Limit {
    if facts.queue_type != "quorum" {
        return Limit::None;
    }
    // Version 4 reads a negative number as none, also where the other of argument and policy has one; version 3 as zero.
    let number = match major_version {
        Some(LIMITED_SINCE..) => facts.number_unless_negative("delivery-limit"),
        _ => facts.number("delivery-limit"),
    };
    match (number, major_version) {
        (Some((times, _)), Some(LIMITED_SINCE..)) if times < 0 => Limit::None,
        (Some((times, title)), _) => Limit::Set { times: times.max(0), title: format!("its {title}") },
        (None, Some(LIMITED_SINCE..)) => Limit::Set {
            times: DEFAULT_LIMIT,
            title: format!("RabbitMQ {LIMITED_SINCE}'s own delivery limit on quorum queues"),
        },
        (None, Some(_)) if facts.policies_seen => Limit::None,
        (None, _) => Limit::Unknown,
    }
}

/// The setting by which a full queue makes room; none where it does not.
pub(super) fn drops_when_full(facts: &QueueFacts) -> Option<&str> {
    if facts.text("overflow").is_some_and(|overflow| overflow.starts_with("reject-publish")) {
        return None;
    }
    ["max-length", "max-length-bytes"].into_iter().find_map(|key| Some(facts.number(key)?.1))
}

/// How this queue would lose what it confirmed, with the cure; none where it keeps it.
pub(super) fn throws_away(facts: &QueueFacts) -> Option<String> {
    if let Some(title) = drops_when_full(facts) {
        return Some(format!(
            "confirms messages and then throws others away when it is full ({title}): declare it with x-overflow \
             reject-publish"
        ));
    }
    if !facts.durable {
        return Some("does not outlive a restart of the broker: declare it durable".to_owned());
    }
    if facts.auto_delete {
        return Some(
            "is deleted with all that is in it once its last reader leaves: declare it without auto-delete".to_owned(),
        );
    }
    let (_, title) = facts.number("expires")?;
    Some(format!("is deleted with all that is in it when nobody reads it ({title}): declare it without"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn queue(queue_type: &str, arguments: Value) -> QueueFacts {
        QueueFacts::new(queue_type, true, false).with_arguments(&arguments)
    }

    fn limit(facts: &QueueFacts, version: Option<u64>) -> Option<i64> {
        match delivery_limit(facts, version) {
            Limit::None => None,
            Limit::Set { times, .. } => Some(times),
            Limit::Unknown => Some(-1),
        }
    }

    #[test]
    fn the_delivery_limit_depends_on_type_arguments_policies_and_version() {
        let bare = queue("quorum", json!({}));
        let seen = bare.clone().with_policies(&json!({}), "");
        let set = queue("quorum", json!({"x-delivery-limit": 3}));
        let negative = queue("quorum", json!({"x-delivery-limit": -1}));
        let unknown = Some(-1);
        assert_eq!([limit(&bare, None), limit(&bare, Some(3)), limit(&bare, Some(4))], [unknown, unknown, Some(20)]);
        assert_eq!([limit(&seen, None), limit(&seen, Some(3)), limit(&seen, Some(4))], [unknown, None, Some(20)]);
        assert_eq!([limit(&set, None), limit(&set, Some(3)), limit(&set, Some(4))], [Some(3); 3]);
        assert_eq!([limit(&negative, Some(3)), limit(&negative, Some(4))], [Some(0), None]);
        assert_eq!(limit(&queue("classic", json!({})), Some(4)), None);
    }

    #[test]
    fn a_queue_that_would_lose_what_it_confirmed_is_found_out() {
        let bounded = json!({"x-max-length-bytes": 9});
        let refusing = json!({"x-max-length": 9, "x-overflow": "reject-publish-dlx"});
        assert!(throws_away(&queue("classic", bounded)).unwrap().contains("x-max-length-bytes"));
        assert_eq!(throws_away(&queue("quorum", refusing)), None);
        assert!(throws_away(&queue("quorum", json!({"x-expires": 9}))).unwrap().contains("x-expires"));
        let by_policy = queue("classic", json!({})).with_policies(&json!({"max-length": 1}), "limits");
        assert!(throws_away(&by_policy).unwrap().contains("max-length of policy 'limits'"));
        assert!(throws_away(&QueueFacts::new("classic", false, false)).unwrap().contains("durable"));
        assert!(throws_away(&QueueFacts::new("classic", true, true)).unwrap().contains("auto-delete"));
        assert_eq!(throws_away(&QueueFacts::new("classic", true, false)), None);
    }
}
