//! Inflicting one fault, and putting right what it broke.

use std::time::Duration;

use anyhow::Result;
use tokio::time::sleep;

use super::Rig;
use crate::faults::Kind;
use crate::host::Host;
use crate::policies::{self, GOOD, Policy, TRYING};
use crate::random::Random;

impl Rig {
    /// Inflicts a fault and returns once all is as it was.
    pub(super) async fn inflict(&self, kind: Kind, random: &mut Random) -> Result<()> {
        let host = self.broker.repertoire().of_a_host.contains(&kind).then(|| random.index(self.hosts.len()));
        let lasts = Duration::from_millis(random.between(1000, 7000));
        match host {
            Some(host) => self.inflict_on(host, kind, lasts, random).await,
            None => {
                let place = self.faults.begin(kind, None, "");
                self.broker.inflict(kind, lasts, &self.books).await?;
                self.faults.end(place);
                if matches!(kind, Kind::KillBroker | Kind::StopBroker) {
                    self.broker.prove(kind.name(), &self.books).await?;
                }
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
        let in_order = random.below(2) == 0;
        let mut host = self.hosts[number].lock().await;
        match kind {
            Kind::KillHost => {
                host.kill().await?;
                self.prove(number, "killed").await?;
                sleep(lasts / 2).await;
                host.start()?;
            }
            Kind::TerminateHost => {
                self.terminate(number, &mut host).await;
                self.prove(number, "stopped").await?;
                sleep(lasts / 4).await;
                host.start()?;
            }
            Kind::Away => {
                if in_order {
                    self.terminate(number, &mut host).await;
                } else {
                    host.kill().await?;
                }
                self.prove(number, "gone").await?;
                sleep(lasts * 2).await;
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

    async fn terminate(&self, number: usize, host: &mut Host) {
        if let Err(error) = host.terminate().await {
            self.complain(format!("host {number}: {error:#}"));
        }
    }

    async fn prove(&self, number: usize, what: &str) -> Result<()> {
        self.broker.prove(&format!("host {number} {what}"), &self.books).await
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
}
