//! What must be there before a route starts, and what its operator should know.

use std::time::Duration;

use humantime::format_duration;

use super::no_exchanges;
use super::nodes::Nodes;
use super::settings::{Envelope, NaradSettings};
use super::tiers;
use super::topics::{NewTopic, TopicFacts, create, existing, find};
use crate::broker::{BrokerError, Plan, Prepared};
use crate::topic::Topic;

/// Below this, a lease hardly outlasts a slow request.
const SHORTEST_VISIBILITY: Duration = Duration::from_secs(5);

/// Checks what the route needs, and makes what may be made.
pub(super) async fn prepare(nodes: &Nodes, settings: &NaradSettings, plan: &Plan) -> Result<Prepared, BrokerError> {
    let Plan { route, source, .. } = plan;
    let facts = existing(nodes, source).await?;
    is_here(route, source, &facts)?;
    let mut remarks = Vec::new();
    if facts.visibility() < SHORTEST_VISIBILITY {
        remarks.push(format!(
            "leases of topic '{source}' last {} only, so a slow network loses them: give it a visibility_timeout_ms of at \
             least {}",
            format_duration(facts.visibility()),
            SHORTEST_VISIBILITY.as_millis()
        ));
    }
    remarks.extend(what_is_lost(settings, source));
    for topic in &plan.topics {
        match topic {
            Topic::Named(name) => {
                remarks.extend(prepare_topic(nodes, settings, route, name).await?);
                remarks.extend(what_is_lost(settings, name));
            }
            Topic::Exchange { .. } => {
                return Err(BrokerError::Unfit(format!("route {route}: {}", no_exchanges(topic))));
            }
        }
    }
    for tier in &plan.tiers {
        remarks.extend(tiers::prepare(nodes, route, tier, settings.declare).await?);
    }
    for tier in tiers::left_behind(nodes, route, &plan.tiers).await? {
        remarks.push(format!(
            "tier {tier} is not in the configuration any more: what is still in it is consumed; delete topic '{}' and '{}' \
             once they are empty",
            tiers::child(route, &tier),
            tiers::parent(route, &tier)
        ));
    }
    remarks.sort();
    remarks.dedup();
    Ok(Prepared {
        requeue_is_safe: true,
        single_active_consumer: Some(false),
        max_header_bytes: None,
        hold: None,
        remarks,
    })
}

/// Checks a topic that the route publishes to, or makes it. What the operator should know of it.
async fn prepare_topic(
    nodes: &Nodes,
    settings: &NaradSettings,
    route: &str,
    name: &str,
) -> Result<Vec<String>, BrokerError> {
    let facts = match find(nodes, name).await? {
        Some(facts) => facts,
        None if settings.declare => {
            // A dead letter is kept until somebody has seen to it.
            create(nodes, &NewTopic { name, retention_ms: Some(0), ..NewTopic::default() }).await?
        }
        None => existing(nodes, name).await?,
    };
    if facts.fanout_delay_ms > 0 {
        return Err(BrokerError::Unfit(format!(
            "topic '{name}' of route {route} is a child with a delay, which takes messages from its parent only (409): name \
             another topic"
        )));
    }
    is_here(route, name, &facts)?;
    let mut remarks = Vec::new();
    if let Some(retention) = facts.retention() {
        let retention = format_duration(retention);
        remarks.push(format!("topic '{name}' keeps messages for {retention} only, whether or not anybody saw them"));
    }
    if facts.schema_version > 0 && *settings.envelope(name) != Envelope::None {
        remarks.push(format!(
            "topic '{name}' has a schema, which refuses our envelope unless it allows for it: set envelope = \"none\", or use \
             a topic without one"
        ));
    }
    Ok(remarks)
}

fn is_here(route: &str, name: &str, facts: &TopicFacts) -> Result<(), BrokerError> {
    if facts.partitions > 0 {
        return Ok(());
    }
    Err(BrokerError::Unfit(format!(
        "topic '{name}' of route {route} is on another cluster: configure that as a broker of its own"
    )))
}

/// What is lost on a topic without an envelope.
fn what_is_lost(settings: &NaradSettings, topic: &str) -> Option<String> {
    (*settings.envelope(topic) == Envelope::None).then(|| {
        format!(
            "messages published to topic '{topic}' have no envelope: they lose their ids, headers and counts, so dead letters \
             do not say what they died of, and messages that are put back are not known for that"
        )
    })
}
