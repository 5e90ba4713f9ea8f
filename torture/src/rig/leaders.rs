//! Quorum queues of the broker that have no leader: nothing goes in or out, however long one waits.
//!
//! A RabbitMQ of version 3.10 that is killed while a quorum queue is declared, as hosts declare the tiers when they start,
//! finds the queue again with an empty log. It takes such a queue for one whose first election is still to be called for,
//! which nobody does: no restart helps, but an election does. Hosts cannot know, and can but hold what they have.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail};
use tokio::time::{Instant, sleep};

use super::Rig;
use crate::faults::Kind;
use crate::node::Node;

/// An election takes a second or two, on a busy machine.
const LONGEST_ELECTION: Duration = Duration::from_secs(8);
/// Between looks while the broker is left alone. `rabbitmqctl` takes half a second of a processor.
const EVERY: Duration = Duration::from_secs(10);

impl Rig {
    /// Returns once every quorum queue has a leader, and calls for an election where one finds none. The time from the first
    /// look at which it had none is a fault's, and no other time is: a queue with a leader that stands still is the hosts'
    /// matter.
    pub(super) async fn ensure_leaders(&self, node: &Node) -> Result<()> {
        let since = self.clock.now();
        let Some(queues) = still_without_leader(node).await? else { return Ok(()) };
        eprintln!("torture: {:>6.0} s  no leader for {queues}: an election is called for", self.clock.now());
        let place = self.faults.began(Kind::NoLeader, None, queues, since);
        node.call_elections().await?;
        if let Some(queues) = still_without_leader(node).await? {
            bail!("no leader for {queues}, also after an election was called for");
        }
        self.faults.end(place);
        Ok(())
    }

    /// Looks all along, also for a leader that is lost later.
    pub(super) async fn watch_leaders(self: Arc<Self>) {
        loop {
            sleep(EVERY).await;
            // A fault that concerns the broker is under way, and looks for itself in the end.
            let Ok(node) = self.node.try_lock() else { continue };
            if let Err(error) = self.ensure_leaders(&node).await {
                return self.complain(format!("leaders of queues: {error:#}"));
            }
        }
    }
}

/// The names of queues that find no leader for as long as an election may take.
async fn still_without_leader(node: &Node) -> Result<Option<String>> {
    let begun = Instant::now();
    loop {
        let queues = node.queues_without_leader().await?;
        if queues.is_empty() {
            return Ok(None);
        }
        if begun.elapsed() > LONGEST_ELECTION {
            return Ok(Some(queues.join(", ")));
        }
        sleep(Duration::from_millis(500)).await;
    }
}
