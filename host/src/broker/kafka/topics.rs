//! The topics that a route needs: that they are there, and keep what is published (rule 2).
//!
//! * `keeping`: whether a topic keeps what is on it, by its settings. `tier`: what a tier's topic must be like.

mod keeping;
mod tier;

use std::collections::{BTreeMap, BTreeSet};

use self::keeping::{Keeping, number};
use super::cluster::{Cluster, Found, TopicSettings};
use super::{KafkaSettings, group, tiers};
use crate::broker::{BrokerError, Plan};
use crate::topic::{TIER_QUEUE_PREFIX, Topic};

/// Kafka's own bound, in characters.
const LONGEST_NAME: usize = 249;
/// Kafka's default for the size of a batch of records, in bytes.
const MAX_MESSAGE_BYTES: i64 = 1_048_588;
/// Room for our headers beside a record as large as its source allows.
const HEADER_ROOM: i64 = 64 * 1024;

/// What was found out about a route's topics.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// The largest record that every target takes, in bytes; `None` where there are no targets.
    pub(super) max_message_bytes: Option<usize>,
    pub(super) remarks: Vec<String>,
}

/// Checks the source, and checks or creates tiers and dead-letter topics.
pub(super) async fn prepare(cluster: &Cluster, settings: &KafkaSettings, plan: &Plan) -> Result<Findings, BrokerError> {
    let (there, confirmed_by_one) = (cluster.topics().await?, Vec::new());
    let mut preparing =
        Preparing { cluster, broker: settings, plan, there, confirmed_by_one, findings: Findings::default() };
    let source = preparing.source()?;
    let targets = preparing.targets()?;
    // Each once: a broker answers a question about the same topic twice with nonsense.
    let names: BTreeSet<&str> =
        std::iter::once(plan.source.as_str()).chain(targets.iter().map(|target| &*target.topic)).collect();
    let there: Vec<&str> = names.iter().copied().filter(|name| preparing.there.contains_key(*name)).collect();
    let mut known = cluster.settings(&there).await?;
    let largest = known
        .get(&plan.source)
        .and_then(|settings| settings.as_ref().ok())
        .map_or(MAX_MESSAGE_BYTES, max_message_bytes);
    for target in &targets {
        if !preparing.there.contains_key(&target.topic) {
            preparing.create(target, source, largest).await?;
        }
    }
    // Also what was just created: a cluster has rules of its own.
    let created: Vec<&str> = names.iter().copied().filter(|name| !known.contains_key(*name)).collect();
    if !created.is_empty() {
        known.extend(cluster.settings(&created).await?);
    }
    for target in &targets {
        preparing.check(target, known.get(&target.topic), largest)?;
    }
    preparing.forgotten_tiers().await?;
    preparing.confirmations();
    Ok(preparing.findings)
}

/// A topic that is published to.
struct Target {
    topic: String,
    keeping: Keeping,
}

struct Preparing<'p> {
    cluster: &'p Cluster,
    broker: &'p KafkaSettings,
    plan: &'p Plan,
    there: BTreeMap<String, Found>,
    /// Targets whose records are confirmed by one broker alone.
    confirmed_by_one: Vec<String>,
    findings: Findings,
}

impl Preparing<'_> {
    fn source(&self) -> Result<Found, BrokerError> {
        let (route, source) = (&self.plan.route, &self.plan.source);
        check_name(source).map_err(|unfit| BrokerError::Unfit(format!("route '{route}': {unfit}")))?;
        self.there.get(source).copied().ok_or_else(|| {
            BrokerError::Unfit(format!(
                "topic '{source}' does not exist on broker '{}': create it, or correct `source` of route '{route}'",
                self.broker.name
            ))
        })
    }

    fn targets(&self) -> Result<Vec<Target>, BrokerError> {
        let plan = self.plan;
        let named = |topic: &Topic| match topic {
            Topic::Named(name) => Ok(name.clone()),
            Topic::Exchange { .. } => Err(format!("route '{}': {}", plan.route, no_exchanges(topic))),
        };
        let letters =
            plan.topics.iter().map(|topic| Ok(Target { topic: named(topic)?, keeping: Keeping::DeadLetters }));
        let origins = plan.origins.iter().map(|topic| Ok(Target { topic: named(topic)?, keeping: Keeping::Origin }));
        let tiers = plan
            .tiers
            .iter()
            .map(|tier| Ok(Target { topic: tiers::topic(&plan.route, tier), keeping: Keeping::Tier(tier.delay) }));
        let targets: Result<Vec<Target>, String> = letters.chain(origins).chain(tiers).collect();
        let targets = targets.map_err(BrokerError::Unfit)?;
        for target in &targets {
            check_name(&target.topic)
                .map_err(|unfit| BrokerError::Unfit(format!("route '{}': {unfit}", plan.route)))?;
        }
        Ok(targets)
    }

    /// Creates a target that is not there, where that may be done.
    async fn create(&mut self, target: &Target, source: Found, largest: i64) -> Result<(), BrokerError> {
        let (topic, route, name) = (&target.topic, &self.plan.route, &self.broker.name);
        let kind = target.keeping.noun();
        if !self.broker.declare || matches!(target.keeping, Keeping::Origin) {
            return Err(BrokerError::Unfit(format!(
                "topic '{topic}', {kind} of route '{route}', does not exist on broker '{name}': create it{}",
                target.keeping.recipe()
            )));
        }
        let mut settings = target.keeping.settings();
        settings.push(("max.message.bytes", largest.saturating_add(HEADER_ROOM).min(i64::from(i32::MAX)).to_string()));
        // As many as the source has: as much can fail as arrives.
        self.cluster.create(topic, source.partitions, &settings).await?;
        tracing::info!(broker = %name, %topic, partitions = source.partitions, "created the topic, {kind} of route {route}");
        Ok(())
    }

    fn check(
        &mut self,
        target: &Target,
        settings: Option<&Result<TopicSettings, String>>,
        largest: i64,
    ) -> Result<(), BrokerError> {
        let topic = &target.topic;
        let settings = match settings {
            Some(Ok(settings)) => settings,
            unknown => {
                let why = unknown.and_then(|answer| answer.as_ref().err()).map_or("no answer", String::as_str);
                self.findings.remarks.push(format!(
                    "not checked: whether topic '{topic}' keeps what is published to it ({why}): let the user of this broker describe \
                     the topic's configuration"
                ));
                return Ok(());
            }
        };
        target.keeping.check(topic, settings).map_err(|unfit| {
            BrokerError::Unfit(format!("route '{}' on broker '{}': {unfit}", self.plan.route, self.broker.name))
        })?;
        self.findings.remarks.extend(target.keeping.doubts(topic, settings));
        if number(settings, "min.insync.replicas").is_some_and(|replicas| replicas < 2) {
            self.confirmed_by_one.push(format!("'{topic}'"));
        }
        let max = max_message_bytes(settings);
        if max < largest {
            self.findings.remarks.push(format!(
                "topic '{topic}' takes records of {max} bytes, and '{}' larger ones, of {largest}: raise its max.message.bytes",
                self.plan.source
            ));
        }
        let max = usize::try_from(max).unwrap_or(0);
        self.findings.max_message_bytes = Some(self.findings.max_message_bytes.map_or(max, |most| most.min(max)));
        Ok(())
    }

    /// One remark for all targets: it is the same everywhere on most clusters.
    fn confirmations(&mut self) {
        if !self.confirmed_by_one.is_empty() {
            self.findings.remarks.push(format!(
                "what is published to {} counts as kept once a single broker has it (min.insync.replicas = 1): with three replicas, \
                 set it to 2",
                self.confirmed_by_one.join(", ")
            ));
        }
    }

    /// Names tiers of this route that are not configured any more while records may wait on them.
    async fn forgotten_tiers(&mut self) -> Result<(), BrokerError> {
        let prefix = format!("{TIER_QUEUE_PREFIX}{}.", self.plan.route);
        let configured: Vec<String> = self.plan.tiers.iter().map(|tier| tiers::topic(&self.plan.route, tier)).collect();
        let forgotten: Vec<(String, i32)> = self
            .there
            .iter()
            // What follows is a delay: a tier of the route `a.b` is none of the route `a`.
            .filter(|(name, _)| name.strip_prefix(&prefix).is_some_and(|tier| humantime::parse_duration(tier).is_ok()))
            .filter(|(name, _)| !configured.contains(name))
            .map(|(name, found)| (name.clone(), found.partitions))
            .collect();
        for (topic, partitions) in forgotten {
            let waiting = waiting(self.cluster, &topic, partitions).await?;
            if waiting > 0 {
                let tier = topic.strip_prefix(&prefix).unwrap_or(&topic).to_owned();
                self.findings.remarks.push(format!(
                    "topic '{topic}' is of a tier that route '{}' does not have any more, and up to {waiting} records wait there that \
                     nobody brings back: add the tier \"{tier}\" again until it is empty (group '{}')",
                    self.plan.route,
                    group::of_route(self.plan)
                ));
            }
        }
        Ok(())
    }
}

/// How many records a cluster's group has not passed on a topic, at most.
async fn waiting(cluster: &Cluster, topic: &str, partitions: i32) -> Result<i64, BrokerError> {
    let bounds = cluster.bounds(topic, partitions).await?;
    let committed = cluster.committed(topic, partitions).await?;
    Ok(bounds.iter().zip(committed).map(|((low, end), committed)| end - committed.offset.unwrap_or(0).max(*low)).sum())
}

fn max_message_bytes(settings: &TopicSettings) -> i64 {
    number(settings, "max.message.bytes").unwrap_or(MAX_MESSAGE_BYTES)
}

/// Kafka's rule for the names of topics, in words where one breaks it.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    let is_fit = |character: char| character.is_ascii_alphanumeric() || "._-".contains(character);
    if name.is_empty() || name == "." || name == ".." || name.len() > LONGEST_NAME || !name.chars().all(is_fit) {
        let shown: String = name.escape_debug().take(60).collect();
        let length = name.chars().count();
        return Err(format!(
            "\"{shown}\" ({length} characters) cannot be a topic's name: write 1 to {LONGEST_NAME} letters, digits, `.`, `_` and `-`"
        ));
    }
    Ok(())
}

pub(super) fn no_exchanges(topic: &Topic) -> String {
    format!("Kafka has no exchanges, so nothing can be published to {topic}; name a topic instead")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_by_kafkas_rule() {
        for fit in ["orders", "orders.dlq", "A_b-9", &"x".repeat(249)] {
            assert_eq!(check_name(fit), Ok(()), "{fit}");
        }
        for unfit in ["", ".", "..", "a b", "a/b", "ü", "a\0", &"x".repeat(250)] {
            assert!(check_name(unfit).is_err(), "{unfit:?}");
        }
    }
}
