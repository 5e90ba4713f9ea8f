//! The topics that messages of one route wait on.
//!
//! A tier is a pair: a parent, which takes copies, and its one delay child, which hands them out when they are due. Another child
//! of the parent would bring each message back once more.

use std::time::Duration;

use humantime::format_duration;

use super::nodes::Nodes;
use super::topics::{NewTopic, TopicFacts, create, find, names};
use crate::broker::BrokerError;
use crate::timestamp::millis;
use crate::topic::{TIER_QUEUE_PREFIX, Tier};

/// What Narad demands of a parent beside the delay.
const MARGIN: Duration = Duration::from_secs(60 * 60);
/// A tier that is created keeps its messages for so long beside the delay, for a host that is not there.
const KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// What a child is called beside its parent.
const CHILD: &str = ".run";

/// The topic that copies are published to, such as `reprieve.tier.orders.30s`.
pub(super) fn parent(route: &str, tier: &str) -> String {
    format!("{TIER_QUEUE_PREFIX}{route}.{tier}")
}

/// The topic that they come back on.
pub(super) fn child(route: &str, tier: &str) -> String {
    parent(route, tier) + CHILD
}

/// Checks both topics of a tier, and makes what is missing. Gives what an operator should know.
pub(super) async fn prepare(
    nodes: &Nodes,
    route: &str,
    tier: &Tier,
    declare: bool,
) -> Result<Option<String>, BrokerError> {
    let (parent, child) = (parent(route, &tier.name), child(route, &tier.name));
    let missing = |name: &str| {
        BrokerError::Unfit(format!(
            "{nodes} has no topic '{name}', which tier {} of route {route} needs: create it, or set `declare = true` for \
             the host to do so",
            tier.name
        ))
    };
    let kept = Some(millis(tier.delay.saturating_add(KEPT)));
    let facts = match find(nodes, &parent).await? {
        Some(facts) => facts,
        None if declare => {
            create(nodes, &NewTopic { name: &parent, retention_ms: kept, ..NewTopic::default() }).await?
        }
        None => return Err(missing(&parent)),
    };
    check_parent(tier, &parent, &child, &facts)?;
    let facts = match find(nodes, &child).await? {
        Some(facts) => facts,
        None if declare => {
            let delay = Some(millis(tier.delay));
            let topic = NewTopic { name: &child, retention_ms: kept, parent: Some(&parent), fanout_delay_ms: delay };
            create(nodes, &topic).await?
        }
        None => return Err(missing(&child)),
    };
    check_child(tier, &parent, &child, &facts)?;
    let short = facts.retention().filter(|retention| *retention < KEPT);
    Ok(short.map(|retention| {
        format!(
            "topic '{child}' keeps messages for {} only: those that are due while no host runs for so long are gone",
            format_duration(retention)
        )
    }))
}

fn check_parent(tier: &Tier, parent: &str, child: &str, facts: &TopicFacts) -> Result<(), BrokerError> {
    let least = tier.delay.saturating_add(MARGIN);
    if facts.retention().is_some_and(|retention| retention < least) {
        return Err(BrokerError::Unfit(format!(
            "topic '{parent}' keeps messages for less than its delay and an hour, so Narad gives it no child with a delay of \
             {} (409): set its retention_ms to at least {}",
            tier.name,
            millis(least)
        )));
    }
    if let Some(grandparent) = &facts.parent {
        return Err(BrokerError::Unfit(format!(
            "topic '{parent}' is a child of '{grandparent}' and so can have none itself (409): detach it there"
        )));
    }
    match facts.children.iter().find(|other| *other != child) {
        Some(other) => Err(BrokerError::Unfit(format!(
            "topic '{parent}' has the child '{other}' beside '{child}', so each message would come back once for each of \
             them: detach it (narad topic detach {parent} {other})"
        ))),
        None => Ok(()),
    }
}

fn check_child(tier: &Tier, parent: &str, child: &str, facts: &TopicFacts) -> Result<(), BrokerError> {
    let delay = Duration::from_millis(facts.fanout_delay_ms);
    match &facts.parent {
        Some(actual) if actual == parent && delay == tier.delay => Ok(()),
        Some(actual) if actual == parent => Err(BrokerError::Unfit(format!(
            "topic '{child}' follows '{parent}' after {} and not after {}: a delay cannot be changed, so once it is empty \
             detach it and attach it anew (POST /v1/topics/{parent}/children {{\"child\": \"{child}\", \"delay_ms\": {}}})",
            format_duration(delay),
            tier.name,
            millis(tier.delay)
        ))),
        Some(other) => Err(BrokerError::Unfit(format!(
            "topic '{child}' is a child of '{other}' and a topic has one parent (409): detach it there"
        ))),
        None => Err(BrokerError::Unfit(format!(
            "topic '{child}' is there and follows no other, so nothing that waits would come back: attach it (POST \
             /v1/topics/{parent}/children {{\"child\": \"{child}\", \"delay_ms\": {}}})",
            millis(tier.delay)
        ))),
    }
}

/// Tiers that the route used to have, by name. Messages may still be in them.
pub(super) async fn left_behind(nodes: &Nodes, route: &str, tiers: &[Tier]) -> Result<Vec<String>, BrokerError> {
    let prefix = parent(route, "");
    let found = names(nodes, &prefix).await?;
    let tier = |name: &String| {
        let tier = name.strip_prefix(&prefix)?.strip_suffix(CHILD)?;
        // What has a point in it is a tier of a route with a longer name.
        let is_ours = !tier.is_empty() && tier.chars().all(|character| character.is_ascii_alphanumeric());
        (is_ours && !tiers.iter().any(|known| known.name == tier)).then(|| tier.to_owned())
    };
    Ok(found.iter().filter_map(tier).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tier() -> Tier {
        Tier { name: "30s".to_owned(), delay: Duration::from_secs(30) }
    }

    fn facts() -> TopicFacts {
        TopicFacts {
            partitions: 3,
            retention_ms: millis(KEPT),
            visibility_timeout_ms: 30_000,
            parent: None,
            children: Vec::new(),
            fanout_delay_ms: 0,
            schema_version: 0,
            partition_stats: Vec::new(),
        }
    }

    #[test]
    fn a_parent_with_another_child_would_bring_messages_back_twice() {
        let parent = TopicFacts { children: vec!["p.run".to_owned(), "audit".to_owned()], ..facts() };
        let error = check_parent(&tier(), "p", "p.run", &parent).unwrap_err().to_string();
        assert!(error.contains("'audit'") && error.contains("narad topic detach p audit"), "{error}");
        let parent = TopicFacts { children: vec!["p.run".to_owned()], ..facts() };
        assert_eq!(check_parent(&tier(), "p", "p.run", &parent), Ok(()));
    }

    #[test]
    fn a_parent_keeps_messages_for_an_hour_longer_than_the_delay() {
        let short = TopicFacts { retention_ms: 3_600_000, ..facts() };
        let error = check_parent(&tier(), "p", "p.run", &short).unwrap_err().to_string();
        assert!(error.contains("at least 3630000"), "{error}");
        for retention_ms in [0, 3_630_000] {
            assert_eq!(check_parent(&tier(), "p", "p.run", &TopicFacts { retention_ms, ..facts() }), Ok(()));
        }
    }

    #[test]
    fn a_child_follows_its_parent_after_the_tiers_delay() {
        let check = |parent: Option<&str>, fanout_delay_ms| {
            let facts = TopicFacts { parent: parent.map(str::to_owned), fanout_delay_ms, ..facts() };
            check_child(&tier(), "p", "p.run", &facts)
        };
        assert_eq!(check(Some("p"), 30_000), Ok(()));
        for (parent, delay) in [(Some("p"), 0), (Some("p"), 30_001), (Some("q"), 30_000), (None, 0)] {
            assert!(check(parent, delay).is_err(), "{parent:?} {delay}");
        }
    }
}
