//! The topics that a route needs: that they are there, and keep what is published (rule 2).
//!
//! * `keeping`: whether a topic keeps what is on it, by its settings. `tier`: what a tier's topic must be like.
//! * `forgotten`: tiers that left the configuration. `name`: what topics may be called.

mod forgotten;
mod keeping;
mod name;
mod tier;

use std::collections::{BTreeMap, BTreeSet};

use self::keeping::{Keeping, number};
pub(super) use self::name::{check_name, no_exchanges};
use super::cluster::{Cluster, Found, TopicSettings};
use super::{KafkaSettings, tiers};
use crate::broker::{BrokerError, Plan};
use crate::topic::Topic;

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
}

fn max_message_bytes(settings: &TopicSettings) -> i64 {
    number(settings, "max.message.bytes").unwrap_or(MAX_MESSAGE_BYTES)
}
