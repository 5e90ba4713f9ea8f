//! The end of a run: no more faults, and every message has to come to its end.

use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::Result;
use tokio::time::{Instant, sleep};

use super::Rig;
use crate::policies::GOOD;
use crate::within::PATIENCE;

impl Rig {
    pub(super) async fn close(&self) -> Result<()> {
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
        for error in self.broker.close(&self.books).await {
            self.complain(format!("{error:#}"));
        }
        self.broker.prove("at the end", &self.books).await
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
            if open == 0 && self.broker.waiting().await? == 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
