//! Dead letters that would come back to where they are, by the broker's own doing.

use super::inquiry::Inquiry;
use crate::broker::rabbitmq::queue_facts::QueueFacts;
use crate::broker::{BrokerError, Plan};

/// The error for a target that leads to the route's own source: attempts are counted anew there, so a message would fail for
/// ever.
pub(super) fn back_to_source(inquiry: &Inquiry<'_>, plan: &Plan, target: &str) -> BrokerError {
    BrokerError::Unfit(format!(
        "{target} on broker '{}' leads the dead letters of route '{}' to its own source '{}', where they would fail for ever: \
         name a target that leads nowhere back",
        inquiry.topology.address.name, plan.route, plan.source
    ))
}

/// The error for a queue that is its own dead-letter queue.
pub(super) fn own_dead_letter_queue(inquiry: &Inquiry<'_>, plan: &Plan, queue: &str) -> BrokerError {
    BrokerError::Unfit(format!(
        "queue '{queue}' on broker '{}', to which route '{}' publishes, is its own dead-letter queue, and the broker throws \
         away what goes round like that: give it another x-dead-letter-exchange and x-dead-letter-routing-key, or none",
        inquiry.topology.address.name, plan.route
    ))
}

/// Whether what a queue dead-letters comes to it again; `false` also where the broker does not let us see where an exchange
/// leads.
pub(super) async fn gives_to_itself(inquiry: &mut Inquiry<'_>, queue: &str, facts: &QueueFacts) -> bool {
    let Some(exchange) = facts.text("dead-letter-exchange") else { return false };
    // Without a key of its own a message keeps the one that it came with: the queue's name, from the default exchange.
    let key = facts.text("dead-letter-routing-key").unwrap_or(queue);
    if exchange.is_empty() {
        return key == queue;
    }
    inquiry.reached(exchange, key).await.is_ok_and(|reached| reached.queues.contains(queue))
}
