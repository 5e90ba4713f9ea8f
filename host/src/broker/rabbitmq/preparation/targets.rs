//! The queues and exchanges that a route publishes to.

use super::checks::{Limit, delivery_limit, throws_away};
use super::circles::{back_to_source, gives_to_itself, own_dead_letter_queue};
use super::inquiry::Inquiry;
use super::{Findings, unfit};
use crate::broker::rabbitmq::topology::quorum;
use crate::broker::{BrokerError, Plan};
use crate::topic::Topic;

impl Findings {
    /// Checks a topic, and declares the queue that it names where there is none.
    pub(super) async fn topic(
        &mut self,
        inquiry: &mut Inquiry<'_>,
        plan: &Plan,
        topic: &Topic,
        declare: bool,
    ) -> Result<(), BrokerError> {
        match topic {
            Topic::Named(queue) => self.queue(inquiry, plan, queue, declare).await,
            // The default exchange reaches the queue that the key names.
            Topic::Exchange { exchange, routing_key } if exchange.is_empty() => {
                self.queue(inquiry, plan, routing_key, declare).await
            }
            Topic::Exchange { exchange, routing_key } => self.exchange(inquiry, plan, exchange, routing_key).await,
        }
    }

    async fn queue(
        &mut self,
        inquiry: &mut Inquiry<'_>,
        plan: &Plan,
        queue: &str,
        declare: bool,
    ) -> Result<(), BrokerError> {
        let topology = inquiry.topology;
        if queue == plan.source {
            return Err(back_to_source(inquiry, plan, &format!("queue '{queue}'")));
        }
        match topology.look_for_queue(queue).await? {
            Err(refusal) if refusal.is_missing() && declare => {
                topology.declare_queue(queue, quorum()).await?.map_err(|refusal| {
                    unfit(topology, plan, "queue", queue, &refusal, "or name another in `dead_letters`")
                })?;
            }
            Err(refusal) => {
                let cure = "set `declare = true` on the broker, or name another queue in `dead_letters`";
                return Err(unfit(topology, plan, "queue", queue, &refusal, cure));
            }
            Ok(()) => {}
        }
        self.kept(inquiry, plan, queue).await
    }

    async fn exchange(
        &mut self,
        inquiry: &mut Inquiry<'_>,
        plan: &Plan,
        exchange: &str,
        key: &str,
    ) -> Result<(), BrokerError> {
        let topology = inquiry.topology;
        topology.look_for_exchange(exchange).await?.map_err(|refusal| {
            unfit(topology, plan, "exchange", exchange, &refusal, "or name another in `dead_letters`")
        })?;
        let not_checked = |why: &str| {
            format!(
                "not checked: which queues exchange '{exchange}' leads the key '{key}' to, and what they do ({why})"
            )
        };
        let reached = match inquiry.reached(exchange, key).await {
            Ok(reached) => reached,
            Err(why) => {
                self.remarks.push(not_checked(&why));
                return Ok(());
            }
        };
        if reached.internal {
            return Err(BrokerError::Unfit(format!(
                "exchange '{exchange}' on broker '{}' is internal, so that nobody can publish to it: name another in \
                 `dead_letters` of route '{}'",
                topology.address.name, plan.route
            )));
        }
        if reached.queues.is_empty() && reached.doubt.is_none() {
            return Err(BrokerError::Unfit(format!(
                "exchange '{exchange}' on broker '{}' leads the key '{key}' to no queue: bind one to it, or correct \
                 `dead_letters` of route '{}'",
                topology.address.name, plan.route
            )));
        }
        if reached.queues.contains(&plan.source) {
            return Err(back_to_source(inquiry, plan, &format!("exchange '{exchange}'")));
        }
        for queue in &reached.queues {
            self.kept(inquiry, plan, queue).await?;
        }
        self.remarks.extend(reached.doubt.as_deref().map(not_checked));
        Ok(())
    }

    /// Whether an existing queue keeps what it confirms.
    async fn kept(&mut self, inquiry: &mut Inquiry<'_>, plan: &Plan, queue: &str) -> Result<(), BrokerError> {
        let facts = match inquiry.queue(queue).await? {
            Ok(facts) => facts,
            Err(why) => {
                self.remarks.push(format!("not checked: whether queue '{queue}' keeps all that it takes ({why})"));
                return Ok(());
            }
        };
        if let Some(why) = throws_away(&facts) {
            return Err(BrokerError::Unfit(format!(
                "queue '{queue}' on broker '{}', to which route '{}' publishes, {why}",
                inquiry.topology.address.name, plan.route
            )));
        }
        // Where an origin's own dead letters go is the affair of whoever declared it.
        if !plan.origins.contains(&Topic::from(queue)) && gives_to_itself(inquiry, queue, &facts).await {
            return Err(own_dead_letter_queue(inquiry, plan, queue));
        }
        if facts.text("dead-letter-exchange").is_none() {
            if let Some((_, title)) = facts.number("message-ttl") {
                self.remarks.push(format!("queue '{queue}': what is in it expires ({title})"));
            }
            if let Limit::Set { times, title } = delivery_limit(&facts, inquiry.major_version) {
                self.remarks.push(format!(
                    "queue '{queue}': what a reader of it hands back more than {times} times is thrown away ({title})"
                ));
            }
        }
        Ok(())
    }
}
