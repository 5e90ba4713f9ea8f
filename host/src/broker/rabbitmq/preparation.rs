//! What a route needs of its broker, checked and, where it may be, declared, before any message is touched.
//!
//! * `checks`: what a queue's settings mean for us, without I/O. `source`, `targets`: who they are asked of. `circles`: what
//!   leads back to where it is.
//! * `hand_backs`: how often a queue takes a message back, as whoever reads dead letters asks.
//! * `inquiry`: the settings of a queue, from the management API where there is one, else as far as AMQP shows them.

mod checks;
mod circles;
mod hand_backs;
mod inquiry;
mod source;
mod targets;

use std::time::Duration;

pub(super) use self::hand_backs::hand_back_limit;
use self::inquiry::Inquiry;
use super::management::Management;
use super::tiers;
use super::topology::{Refusal, Topology};
use crate::broker::{BrokerError, Plan};

/// What was found out about a route's source and targets.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// Handing back cannot lose a message.
    pub(super) requeue_is_safe: bool,
    /// After how long the broker takes a delivery back, where the source says so itself.
    pub(super) consumer_timeout: Option<Duration>,
    /// Whether only one consumer at a time gets messages; none where that cannot be told.
    pub(super) single_active_consumer: Option<bool>,
    pub(super) remarks: Vec<String>,
}

/// Checks the source, and checks or declares tiers and topics.
pub(super) async fn prepare(
    topology: &Topology<'_>,
    management: Option<&Management>,
    plan: &Plan,
    declare: bool,
) -> Result<Findings, BrokerError> {
    let mut findings = Findings::default();
    let mut inquiry = Inquiry::begin(topology, management).await;
    findings.source(&mut inquiry, plan).await?;
    for tier in &plan.tiers {
        tiers::ensure(topology, tier, declare).await?;
    }
    for topic in plan.topics.iter().chain(&plan.origins) {
        findings.topic(&mut inquiry, plan, topic, declare).await?;
    }
    findings.remarks.extend(inquiry.not_checked());
    Ok(findings)
}

/// The error for something that a route needs and the broker does not give.
fn unfit(topology: &Topology<'_>, plan: &Plan, kind: &str, name: &str, refusal: &Refusal, cure: &str) -> BrokerError {
    let broker = &topology.address.name;
    let route = &plan.route;
    BrokerError::Unfit(if refusal.is_missing() {
        format!("{kind} '{name}' does not exist on broker '{broker}': declare it, {cure} of route '{route}'")
    } else {
        format!("{kind} '{name}' on broker '{broker}' cannot be used by route '{route}': {refusal}")
    })
}
