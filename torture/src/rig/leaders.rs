//! Quorum queues of the broker that have no leader: they take and give nothing, however long one waits.
//!
//! RabbitMQ 3.10 leaves a queue so on a single node now and then, mostly when it is started again. That is no doing of the
//! hosts, which can but hold what they have, and only a restart of the broker helps.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, bail};
use tokio::time::{Instant, sleep};

use super::Rig;
use crate::faults::Kind;
use crate::node::Node;

/// An election takes a second or two, on a busy machine.
const LONGEST_ELECTION: Duration = Duration::from_secs(8);
/// Between looks at a broker that is left alone: each costs it little, but `rabbitmqctl` takes half a second of a processor.
const EVERY: Duration = Duration::from_secs(10);
/// One restart helps as a rule.
const MOST_RESTARTS: usize = 4;

impl Rig {
    /// Returns once every quorum queue has a leader, and restarts the broker where one finds none. From the first look that
    /// found none to the end of the restart counts as a fault, as nothing else does: a queue with a leader that stands still
    /// is the hosts' matter.
    pub(super) async fn ensure_leaders(&self, node: &mut Node) -> Result<()> {
        for _ in 0..=MOST_RESTARTS {
            let since = self.clock.now();
            let Some(queues) = still_without_leader(node).await? else { return Ok(()) };
            eprintln!("torture: {:>6.0} s  no leader for {queues}: the broker is started again", self.clock.now());
            let place = self.faults.began(Kind::NoLeader, None, queues, since);
            node.kill().await?;
            node.start().await?;
            self.faults.end(place);
        }
        bail!("a queue has no leader, also after {MOST_RESTARTS} restarts of the broker")
    }

    /// Looks for queues that lose their leader, or find none later.
    pub(super) async fn watch_leaders(self: Arc<Self>) {
        loop {
            sleep(EVERY).await;
            // A fault that concerns the broker is under way, and looks for itself in the end.
            let Ok(mut node) = self.node.try_lock() else { continue };
            if let Err(error) = self.ensure_leaders(&mut node).await {
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
