//! What a route needs of its broker, checked and, where it may be, declared, before any message is touched.

use super::declaration::{Declaration, learn};
use super::tiers;
use super::topology::{Refusal, Topology, quorum};
use crate::broker::{BrokerError, Plan};
use crate::topic::Topic;

/// What was found out about a route's source and targets.
pub(super) struct Findings {
    pub(super) requeue_is_safe: bool,
    pub(super) single_active_consumer: Option<bool>,
    pub(super) remarks: Vec<String>,
}

/// Checks the source, and checks or declares tiers and topics.
pub(super) async fn prepare(topology: &Topology<'_>, plan: &Plan, declare: bool) -> Result<Findings, BrokerError> {
    let mut findings = Findings { requeue_is_safe: false, single_active_consumer: None, remarks: Vec::new() };
    findings.source(topology, plan).await?;
    for tier in &plan.tiers {
        tiers::ensure(topology, tier, declare).await?;
    }
    for topic in &plan.topics {
        match topic {
            Topic::Named(queue) => findings.target_queue(topology, plan, queue, declare).await?,
            // The default exchange reaches the queue that the key names.
            Topic::Exchange { exchange, routing_key } if exchange.is_empty() => {
                findings.target_queue(topology, plan, routing_key, declare).await?;
            }
            Topic::Exchange { exchange, .. } => {
                topology
                    .look_for_exchange(exchange)
                    .await?
                    .map_err(|refusal| unfit(topology, plan, "exchange", exchange, &refusal, "or correct the topic"))?;
            }
        }
    }
    Ok(findings)
}

impl Findings {
    async fn source(&mut self, topology: &Topology<'_>, plan: &Plan) -> Result<(), BrokerError> {
        topology
            .look_for_queue(&plan.source)
            .await?
            .map_err(|refusal| unfit(topology, plan, "queue", &plan.source, &refusal, "or correct `source`"))?;
        match learn(topology, &plan.source).await? {
            Ok(declaration) if declaration.queue_type() == "stream" => Err(BrokerError::Unfit(format!(
                "queue '{}' on broker '{}' is a stream, which cannot take messages back: let route '{}' consume a \
                 classic or quorum queue",
                plan.source, topology.address.name, plan.route
            ))),
            Ok(declaration) => {
                self.single_active_consumer = Some(declaration.is_true("x-single-active-consumer"));
                let doubt = match dead_letter_exchange(topology, &declaration).await? {
                    Some(missing) => Some(missing),
                    None => requeue_doubt(&declaration),
                };
                self.requeue_is_safe = doubt.is_none();
                self.remarks.extend(doubt.map(|doubt| format!("queue '{}': {doubt}", plan.source)));
                Ok(())
            }
            Err(why) => {
                self.remarks.push(format!(
                    "not checked: whether queue '{}' can lose a message that is handed back ({why})",
                    plan.source
                ));
                Ok(())
            }
        }
    }

    async fn target_queue(
        &mut self,
        topology: &Topology<'_>,
        plan: &Plan,
        queue: &str,
        declare: bool,
    ) -> Result<(), BrokerError> {
        match topology.look_for_queue(queue).await? {
            Err(refusal) if refusal.is_missing() && declare => {
                return topology
                    .declare_queue(queue, quorum())
                    .await?
                    .map_err(|refusal| unfit(topology, plan, "queue", queue, &refusal, "or correct the topic"));
            }
            Err(refusal) => {
                let cure = "set `declare = true` on the broker, or correct the topic";
                return Err(unfit(topology, plan, "queue", queue, &refusal, cure));
            }
            Ok(()) => {}
        }
        match learn(topology, queue).await? {
            Ok(declaration) => match throws_away(&declaration) {
                Some(why) => Err(BrokerError::Unfit(format!(
                    "queue '{queue}' on broker '{}', to which route '{}' publishes, {why}",
                    topology.address.name, plan.route
                ))),
                None => {
                    if declaration.has("x-message-ttl") {
                        self.remarks.push(format!("queue '{queue}': what is in it expires (x-message-ttl)"));
                    }
                    Ok(())
                }
            },
            Err(why) => {
                self.remarks.push(format!("not checked: whether queue '{queue}' keeps all that it takes ({why})"));
                Ok(())
            }
        }
    }
}

/// What is wrong with the dead-letter exchange of a queue that counts hand-overs, where it names one.
async fn dead_letter_exchange(topology: &Topology<'_>, source: &Declaration) -> Result<Option<String>, BrokerError> {
    let Some(exchange) = source.text("x-dead-letter-exchange").filter(|exchange| !exchange.is_empty()) else {
        return Ok(None);
    };
    if source.queue_type() == "classic" {
        return Ok(None);
    }
    Ok(topology.look_for_exchange(exchange).await?.err().map(|_| {
        format!(
            "its dead-letter exchange '{exchange}' does not exist, so a message that is handed back too often is thrown \
             away, and none is: declare the exchange"
        )
    }))
}

/// Why handing messages back to this queue over and over might lose them; none where it cannot.
fn requeue_doubt(source: &Declaration) -> Option<String> {
    if source.queue_type() == "classic" || source.has("x-dead-letter-exchange") {
        return None;
    }
    Some(if source.has("x-delivery-limit") {
        "its x-delivery-limit without a dead-letter exchange makes the broker throw a message away that was handed \
         back too often, so none is: give it an x-dead-letter-exchange"
            .to_owned()
    } else {
        "not checked: RabbitMQ 4 and policies of the broker put a delivery limit on quorum queues that clients cannot \
         see, so no message is handed back for good: give the queue an x-dead-letter-exchange"
            .to_owned()
    })
}

/// How this queue would lose what it confirmed, with the cure; none where it keeps it.
fn throws_away(target: &Declaration) -> Option<&'static str> {
    let bounded = target.has("x-max-length") || target.has("x-max-length-bytes");
    let refuses_when_full = target.text("x-overflow").is_some_and(|overflow| overflow.starts_with("reject-publish"));
    if bounded && !refuses_when_full {
        Some("confirms messages and then throws others away when it is full: declare it with x-overflow reject-publish")
    } else if !target.durable {
        Some("does not outlive a restart of the broker: declare it durable")
    } else {
        None
    }
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
