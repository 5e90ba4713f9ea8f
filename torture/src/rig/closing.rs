//! The end of a run: no more faults, and every message has to come to its end.

use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::Result;
use lapin::options::BasicAckOptions;
use tokio::time::{Instant, sleep};

use super::Rig;
use crate::client::Client;
use crate::policies::GOOD;
use crate::topology::{DEAD_QUEUES, WAITING, get, ready};
use crate::within::{PATIENCE, within};

impl Rig {
    pub(super) async fn close(&self, broker: SocketAddr) -> Result<()> {
        let now = *self.closing.get_or_init(|| self.clock.now());
        eprintln!("torture: {now:>6.0} s  no more faults; waiting for the last message");
        for (number, host) in self.hosts.iter().enumerate() {
            let host = host.lock().await;
            host.install(&GOOD[0], &self.plan.policies.file(&GOOD[0]))?;
            host.hang_up()?;
            self.proxies[number].stall(false);
        }
        self.drained.store(self.wait_for_the_last().await?, Ordering::Relaxed);
        for (number, host) in self.hosts.iter().enumerate() {
            if let Err(error) = host.lock().await.terminate().await {
                self.complain(format!("host {number}: {error:#}"));
            }
        }
        let mut client = Client::new(broker);
        for queue in DEAD_QUEUES {
            // What is written down by then is judged all the same.
            if let Err(error) = until_drained(&mut client, queue).await {
                self.complain(format!("{error:#}"));
            }
        }
        within(PATIENCE, "what is left on source and tiers", self.look_for_left_overs(client)).await
    }

    /// Whether every message ended (waiting is over where none ends for as long as the patience lasts) and nothing is on source and tiers, also not in the hands of a host.
    async fn wait_for_the_last(&self) -> Result<bool> {
        let (mut fewest, mut since) = (usize::MAX, Instant::now());
        while since.elapsed() < PATIENCE {
            sleep(Duration::from_secs(1)).await;
            let open = self.books.read(|messages| {
                messages.values().filter(|message| message.confirmed.is_some() && !message.is_over()).count()
            });
            // Attempts alone are no progress: a message that is tried for ever would have them too.
            if open < fewest {
                (fewest, since) = (open, Instant::now());
            }
            if open == 0 && self.node.lock().await.messages_on(&WAITING).await? == 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Hosts are gone: what is on source and tiers now belongs to nobody.
    async fn look_for_left_overs(&self, mut client: Client) -> Result<()> {
        let channel = client.channel().await;
        for queue in WAITING {
            while let Some(delivery) = get(&channel, queue).await? {
                let id = delivery.properties.message_id().as_ref().map(|id| id.as_str()).unwrap_or_default();
                self.books.left_over(id, queue);
                delivery.ack(BasicAckOptions::default()).await?;
            }
        }
        Ok(())
    }
}

/// Waits until the rig has written down what is on a queue of dead letters.
pub(super) async fn until_drained(client: &mut Client, queue: &str) -> Result<()> {
    let empty = async {
        while ready(&client.channel().await, queue).await?.0 > 0 {
            sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    };
    within(PATIENCE, &format!("the dead letters on {queue} to be taken off"), empty).await
}
