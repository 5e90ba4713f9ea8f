//! Faults of the broker, and putting right what they broke.

use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::{Result, bail};
use tokio::time::sleep;

use super::Kafka;
use super::topics::{DEAD, DEAD_LARGEST, INVALID};
use crate::faults::Kind;

/// No record is so small.
const NONE: &str = "1";
/// Publishes that were under way when a topic was closed have been answered by then.
const ANSWERED: Duration = Duration::from_secs(1);

impl Kafka {
    pub(super) async fn inflict_on_all(&self, kind: Kind, lasts: Duration) -> Result<()> {
        match kind {
            Kind::KillBroker => {
                let mut node = self.node.lock().await;
                node.kill().await?;
                sleep(lasts / 4).await;
                node.start().await?;
            }
            Kind::StopBroker => {
                let mut node = self.node.lock().await;
                node.stop().await?;
                sleep(lasts / 4).await;
                node.start().await?;
            }
            Kind::Refuse => {
                self.admin.limit(DEAD, NONE).await?;
                sleep(lasts * 2).await;
                self.admin.limit(DEAD, DEAD_LARGEST).await?;
            }
            Kind::RemoveTopic => {
                // Dead letters are not the rig's to destroy: none comes any more, and those that came were written down.
                self.admin.limit(INVALID, NONE).await?;
                sleep(ANSWERED).await;
                self.until_read().await?;
                self.is_missing.store(true, Ordering::SeqCst);
                self.admin.delete_invalid().await?;
                sleep(ANSWERED).await;
                // What was read of it says nothing of the next one, which a host that starts may make before the rig does.
                self.log().begin(INVALID);
                self.deleted.send_modify(|times| *times += 1);
                sleep(lasts).await;
                self.admin.create_invalid().await?;
                self.is_missing.store(false, Ordering::SeqCst);
            }
            _ => bail!("Kafka has no such fault"),
        }
        Ok(())
    }
}
