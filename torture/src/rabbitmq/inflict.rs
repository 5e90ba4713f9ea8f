//! Faults of the broker, and putting right what they broke.

use std::time::Duration;

use anyhow::{Result, bail};
use tokio::time::sleep;

use super::RabbitMq;
use super::client::Client;
use super::closing::until_drained;
use super::topology::{INVALID_QUEUE, declare_invalid, delete_exchange, delete_queue, unbind_queue};
use crate::faults::Kind;

/// Publishes that were under way when a queue was unbound have been answered by then.
const ANSWERED: Duration = Duration::from_secs(1);

impl RabbitMq {
    pub(super) async fn inflict_on_all(&self, kind: Kind, lasts: Duration) -> Result<()> {
        let mut node = self.node.lock().await;
        let mut client = Client::new(self.address);
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
            Kind::RemoveQueue => {
                unbind_queue(&client.channel().await).await?;
                sleep(ANSWERED).await;
                // Those that were taken before are the rig's to write down.
                until_drained(&mut client, INVALID_QUEUE).await?;
                delete_queue(&client.channel().await).await?;
                sleep(lasts).await;
                declare_invalid(&client.channel().await).await?;
            }
            _ => bail!("RabbitMQ has no such fault"),
        }
        Ok(())
    }
}
