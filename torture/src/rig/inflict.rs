//! Inflicting one fault, and putting right what it broke.

use std::time::Duration;

use anyhow::Result;
use tokio::time::sleep;

use super::Rig;
use super::closing::until_drained;
use crate::client::Client;
use crate::faults::{Kind, OF_A_HOST};
use crate::policies::{self, GOOD, Policy, TRYING};
use crate::random::Random;
use crate::topology::{INVALID_QUEUE, declare_invalid, delete_exchange, delete_queue, unbind_queue};

/// Publishes that were under way when a queue was unbound have been answered by then.
const ANSWERED: Duration = Duration::from_secs(1);

impl Rig {
    /// Inflicts a fault and returns once all is as it was.
    pub(super) async fn inflict(&self, kind: Kind, random: &mut Random) -> Result<()> {
        let host = OF_A_HOST.contains(&kind).then(|| random.index(self.hosts.len()));
        let lasts = Duration::from_millis(random.between(1000, 7000));
        match host {
            Some(host) => self.inflict_on(host, kind, lasts, random).await,
            None => {
                let place = self.faults.begin(kind, None, "");
                self.inflict_on_all(kind, lasts).await?;
                self.faults.end(place);
                Ok(())
            }
        }
    }

    async fn inflict_on(&self, number: usize, kind: Kind, lasts: Duration, random: &mut Random) -> Result<()> {
        match kind {
            Kind::Swap => return self.swap(number, lasts, random).await,
            Kind::BadPolicy => return self.give_bad_policy(number, lasts, random).await,
            _ => {}
        }
        let place = self.faults.begin(kind, Some(number), "");
        let mut host = self.hosts[number].lock().await;
        match kind {
            Kind::KillHost => {
                host.kill().await?;
                sleep(lasts / 2).await;
                host.start()?;
            }
            Kind::TerminateHost => {
                if let Err(error) = host.terminate().await {
                    self.complain(format!("host {number}: {error:#}"));
                }
                sleep(lasts / 4).await;
                host.start()?;
            }
            Kind::HangUp => host.hang_up()?,
            Kind::Cut => self.proxies[number].cut(),
            _ => {
                let proxy = &self.proxies[number];
                proxy.stall(true);
                sleep(lasts * 2).await;
                proxy.stall(false);
            }
        }
        self.faults.end(place);
        Ok(())
    }

    /// A good policy, or for a while a trying one and then a good one.
    async fn swap(&self, number: usize, lasts: Duration, random: &mut Random) -> Result<()> {
        let (good, is_trying) = (&GOOD[random.index(GOOD.len())], random.below(2) == 0);
        let first = if is_trying { &TRYING[random.index(TRYING.len())] } else { good };
        let place = self.faults.begin(Kind::Swap, Some(number), first.name);
        self.give(number, first).await?;
        if is_trying {
            sleep(lasts).await;
            self.give(number, good).await?;
        }
        self.faults.end(place);
        Ok(())
    }

    async fn give(&self, number: usize, policy: &Policy) -> Result<()> {
        let host = self.hosts[number].lock().await;
        host.install(policy, &self.plan.policies.file(policy))?;
        host.hang_up()
    }

    async fn give_bad_policy(&self, number: usize, lasts: Duration, random: &mut Random) -> Result<()> {
        let (what, bytes) = policies::bad(random, &self.plan.policies)?;
        let place = self.faults.begin(Kind::BadPolicy, Some(number), what);
        self.hosts[number].lock().await.put_policy(&bytes)?;
        sleep(lasts / 2).await;
        self.faults.end(place);
        // What it had stays live; the next swap or restart finds a good file again.
        self.give(number, &GOOD[random.index(GOOD.len())]).await
    }

    async fn inflict_on_all(&self, kind: Kind, lasts: Duration) -> Result<()> {
        let mut node = self.node.lock().await;
        let mut client = Client::new(node.address());
        match kind {
            Kind::KillBroker => {
                node.kill().await?;
                sleep(lasts / 4).await;
                node.start().await?;
            }
            Kind::StopBroker => {
                node.stop().await?;
                sleep(lasts / 4).await;
                node.start().await?;
            }
            Kind::Block => {
                node.block(true).await?;
                sleep(lasts).await;
                node.block(false).await?;
            }
            Kind::Refuse => {
                self.draining_paused.send_replace(true);
                sleep(lasts * 2).await;
                self.draining_paused.send_replace(false);
            }
            Kind::RemoveExchange => {
                delete_exchange(&client.channel().await).await?;
                sleep(lasts).await;
                declare_invalid(&client.channel().await).await?;
            }
            _ => {
                unbind_queue(&client.channel().await).await?;
                sleep(ANSWERED).await;
                // Those that were taken before are the rig's to write down.
                until_drained(&mut client, INVALID_QUEUE).await?;
                delete_queue(&client.channel().await).await?;
                sleep(lasts).await;
                declare_invalid(&client.channel().await).await?;
            }
        }
        Ok(())
    }
}
