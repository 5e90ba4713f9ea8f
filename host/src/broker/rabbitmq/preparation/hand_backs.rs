//! How often a queue takes a message back, for whoever has to hand back what only was looked at.

use super::checks::{Limit, delivery_limit};
use super::inquiry::Inquiry;
use crate::broker::rabbitmq::management::Management;
use crate::broker::rabbitmq::queue_facts::QueueFacts;
use crate::broker::rabbitmq::topology::Topology;
use crate::broker::{BrokerError, HandBackLimit};

/// The limit of an existing queue, from its declaration, the policies on it and the broker's version.
pub(in crate::broker::rabbitmq) async fn hand_back_limit(
    topology: &Topology<'_>,
    management: Option<&Management>,
    queue: &str,
) -> Result<HandBackLimit, BrokerError> {
    let mut inquiry = Inquiry::begin(topology, management).await;
    Ok(match inquiry.queue(queue).await? {
        Ok(facts) => limit(&facts, inquiry.major_version, || inquiry.why_not()),
        Err(refusal) => HandBackLimit::Unknown { at_most: None, why: format!("{refusal}; {}", inquiry.why_not()) },
    })
}

fn limit(facts: &QueueFacts, major_version: Option<u64>, why_not: impl FnOnce() -> String) -> HandBackLimit {
    let quorum = facts.queue_type == "quorum";
    match delivery_limit(facts, major_version) {
        Limit::Set { times, .. } if facts.policies_seen => HandBackLimit::Times(times.unsigned_abs()),
        Limit::None if facts.policies_seen || !quorum => HandBackLimit::None,
        // A policy can lower what was declared. A negative number bounds nothing on some versions.
        Limit::None | Limit::Set { .. } | Limit::Unknown => HandBackLimit::Unknown {
            at_most: facts.number("delivery-limit").and_then(|(times, _)| u64::try_from(times).ok()),
            why: why_not(),
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn declared(arguments: Value) -> QueueFacts {
        QueueFacts::new("quorum", true, false).with_arguments(&arguments)
    }

    fn of(facts: &QueueFacts, major_version: Option<u64>) -> HandBackLimit {
        limit(facts, major_version, || "no management".to_owned())
    }

    fn unknown(at_most: Option<u64>) -> HandBackLimit {
        HandBackLimit::Unknown { at_most, why: "no management".to_owned() }
    }

    #[test]
    fn a_limit_is_known_only_where_policies_were_seen() {
        let bare = declared(json!({}));
        assert_eq!(of(&bare, None), unknown(None));
        assert_eq!(of(&bare.clone().with_policies(&json!({}), ""), Some(3)), HandBackLimit::None);
        assert_eq!(of(&bare.clone().with_policies(&json!({}), ""), Some(4)), HandBackLimit::Times(20));
        assert_eq!(of(&bare.with_policies(&json!({"delivery-limit": 2}), "p"), Some(3)), HandBackLimit::Times(2));
        let three = declared(json!({"x-delivery-limit": 3}));
        assert_eq!(of(&three, None), unknown(Some(3)), "a policy may say less");
        assert_eq!(of(&three.with_policies(&json!({"delivery-limit": 2}), "p"), Some(4)), HandBackLimit::Times(2));
    }

    #[test]
    fn a_negative_limit_is_zero_or_none_by_version_and_bounds_nothing_where_that_is_unknown() {
        let negative = declared(json!({"x-delivery-limit": -1}));
        assert_eq!(of(&negative, None), unknown(None));
        let seen = negative.clone().with_policies(&json!({}), "");
        assert_eq!([of(&seen, Some(3)), of(&seen, Some(4))], [HandBackLimit::Times(0), HandBackLimit::None]);
        let lowered = negative.with_policies(&json!({"delivery-limit": 2}), "p");
        assert_eq!([of(&lowered, Some(3)), of(&lowered, Some(4))], [HandBackLimit::Times(0), HandBackLimit::Times(2)]);
    }

    #[test]
    fn a_classic_queue_takes_back_for_ever() {
        assert_eq!(of(&QueueFacts::new("classic", true, false), None), HandBackLimit::None);
    }
}
