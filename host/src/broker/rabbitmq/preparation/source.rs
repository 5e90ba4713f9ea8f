//! The queue that a route consumes.

use super::checks::{Limit, delivery_limit, drops_when_full};
use super::circles::gives_to_itself;
use super::inquiry::Inquiry;
use super::{Findings, unfit};
use crate::broker::rabbitmq::queue_facts::QueueFacts;
use crate::broker::{BrokerError, Plan};

impl Findings {
    /// Checks the source. What makes handing back unsafe is a remark, and kept in mind.
    pub(super) async fn source(&mut self, inquiry: &mut Inquiry<'_>, plan: &Plan) -> Result<(), BrokerError> {
        let (topology, source) = (inquiry.topology, &plan.source);
        topology
            .look_for_queue(source)
            .await?
            .map_err(|refusal| unfit(topology, plan, "queue", source, &refusal, "or correct `source`"))?;
        let facts = match inquiry.queue(source).await? {
            Ok(facts) => facts,
            Err(why) => {
                self.remarks.push(format!(
                    "not checked: whether queue '{source}' can lose a message that is handed back ({why}), so none is"
                ));
                return Ok(());
            }
        };
        if facts.queue_type == "stream" {
            return Err(BrokerError::Unfit(format!(
                "queue '{source}' on broker '{}' is a stream, which cannot take messages back: let route '{}' consume \
                 a classic or quorum queue",
                topology.address.name, plan.route
            )));
        }
        self.single_active_consumer = Some(facts.flag("single-active-consumer"));
        self.consumer_timeout = facts.milliseconds("consumer-timeout");
        let doubts = self.doubts(inquiry, source, &facts).await?;
        self.requeue_is_safe = doubts.is_empty();
        self.remarks.extend(doubts.into_iter().map(|doubt| format!("queue '{source}': {doubt}")));
        if facts.number("message-ttl").is_some() && facts.text("dead-letter-exchange").is_none() {
            self.remarks.push(format!(
                "queue '{source}': what waits in it for too long is thrown away, also what comes back from a tier \
                 (message-ttl without a dead-letter exchange)"
            ));
        }
        Ok(())
    }
}

impl Findings {
    /// Why handing messages back to this queue might lose them; empty where it cannot.
    async fn doubts(
        &mut self,
        inquiry: &mut Inquiry<'_>,
        source: &str,
        facts: &QueueFacts,
    ) -> Result<Vec<String>, BrokerError> {
        let mut doubts = Vec::new();
        let limit = delivery_limit(facts, inquiry.major_version);
        let exchange = facts.text("dead-letter-exchange");
        match (exchange, limit) {
            // A queue that throws nothing away may name whatever it likes.
            (_, Limit::None) => {}
            (Some(exchange), _) => doubts.extend(self.dead_end(inquiry, source, facts, exchange).await?),
            (None, Limit::Set { times, title }) => doubts.push(format!(
                "{title} without a dead-letter exchange makes the broker throw a message away that was handed back too \
                 often (more than {times} times), so none is: give it an x-dead-letter-exchange"
            )),
            (None, Limit::Unknown) => doubts.push(
                "not checked: RabbitMQ 4 and policies of the broker put a delivery limit on quorum queues that clients \
                 cannot see, so no message is handed back for good: give the queue an x-dead-letter-exchange, or the \
                 broker a `management` URL"
                    .to_owned(),
            ),
        }
        if let (None, Some(title)) = (exchange, drops_when_full(facts)) {
            doubts.push(format!(
                "{title} makes the broker throw the oldest message away when the queue is full, also for one that \
                 comes back, so none is handed back: set x-overflow reject-publish, or a dead-letter exchange"
            ));
        }
        Ok(doubts)
    }

    /// What is wrong with the dead-letter exchange of a queue that counts hand-overs.
    async fn dead_end(
        &mut self,
        inquiry: &mut Inquiry<'_>,
        source: &str,
        facts: &QueueFacts,
        exchange: &str,
    ) -> Result<Option<String>, BrokerError> {
        const COST: &str = "so a message that is handed back too often is thrown away, and none is";
        if gives_to_itself(inquiry, source, facts).await {
            return Ok(Some(format!(
                "it is its own dead-letter queue, and the broker throws away what goes round like that, {COST}: give it \
                 another x-dead-letter-exchange or x-dead-letter-routing-key"
            )));
        }
        let key = facts.text("dead-letter-routing-key");
        if exchange.is_empty() {
            let Some(queue) = key else { return Ok(None) };
            let found = inquiry.topology.look_for_queue(queue).await?;
            return Ok(found
                .err()
                .map(|_| format!("its dead-letter queue '{queue}' does not exist, {COST}: declare the queue")));
        }
        if inquiry.topology.look_for_exchange(exchange).await?.is_err() {
            return Ok(Some(format!(
                "its dead-letter exchange '{exchange}' does not exist, {COST}: declare the exchange"
            )));
        }
        // Without a key of its own, a message keeps the one that it was published with, which can be any.
        let Some(key) = key else { return Ok(None) };
        Ok(match inquiry.reached(exchange, key).await {
            Ok(reached) if reached.queues.is_empty() && reached.doubt.is_none() => Some(format!(
                "its dead-letter exchange '{exchange}' leads the key '{key}' to no queue, {COST}: bind a queue to it"
            )),
            Ok(_) => None,
            Err(why) => {
                self.remarks.push(format!(
                    "not checked: whether the source's dead-letter exchange '{exchange}' leads the key '{key}' to a \
                     queue ({why})"
                ));
                None
            }
        })
    }
}
