//! What was lost, as the two ends see it. The host's events have no part in this.

use std::collections::HashSet;

use super::handler::Ledger;
use super::script::Kind;
use crate::broker::memory::MemoryBroker;

/// Of the ids that were sent, those that are nowhere: not processed by the handler, not in any queue (the dead-letter
/// topics are queues, too), and not dropped as the script wants it after the handler has seen them.
pub(super) fn lost(sent: Vec<String>, ledger: &Ledger, broker: &MemoryBroker) -> Vec<String> {
    let kept: HashSet<String> = broker
        .queues()
        .iter()
        .flat_map(|queue| broker.peek(queue, usize::MAX))
        .filter_map(|message| message.id.clone())
        .collect();
    let is_dropped = |id: &str| Kind::of_id(id).is_some_and(Kind::is_dropped) && ledger.has_seen(id);
    sent.into_iter().filter(|id| !ledger.has_processed(id) && !kept.contains(id) && !is_dropped(id)).collect()
}
