//! Faults of the node, and putting right what they broke.

use std::time::Duration;

use anyhow::{Result, bail, ensure};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::Narad;
use crate::faults::Kind;

/// What hosts ask of a node all along.
const REQUESTS: [&str; 6] = ["consume", "produce", "ack", "extend", "nack", "batch"];
/// So often, some of the next requests of each kind go wrong: the rest are answered.
const EVERY: Duration = Duration::from_millis(300);
const TIMES: u32 = 2;
/// Of renewals one after another.
const SLOW: Duration = Duration::from_secs(2);

impl Narad {
    pub(super) async fn inflict_on_all(&self, kind: Kind, lasts: Duration) -> Result<()> {
        match kind {
            Kind::KillBroker => {
                let mut node = self.node.lock().await;
                node.kill().await?;
                sleep(lasts / 4).await;
                node.start().await
            }
            Kind::StopBroker => {
                let mut node = self.node.lock().await;
                node.stop().await?;
                sleep(lasts / 4).await;
                node.start().await
            }
            Kind::ExpireLeases => self.tell("forget-leases", &json!({})).await,
            Kind::LoseReplies => self.disturb(lasts, &[json!("lose_reply"), json!("drop")]).await,
            Kind::SlowReplies => {
                self.disturb(lasts, &[json!({ "slow": { "secs": SLOW.as_secs(), "nanos": 0 } })]).await
            }
            Kind::Trouble => {
                // Forwarded requests are answered in plain text.
                let answers = [(503, r#"{"error":"later"}"#), (502, "bad gateway\n"), (429, r#"{"error":"too many"}"#)];
                self.disturb(lasts, &answers.map(|(status, text)| json!({ "status": [status, text] }))).await
            }
            Kind::Refuse => {
                let refused = json!([{ "on": "produce", "times": u32::MAX, "fault": { "status": [503, "no disk"] } }]);
                self.tell("faults", &refused).await?;
                sleep(lasts * 2).await;
                self.tell("heal", &json!({})).await
            }
            _ => bail!("Narad has no such fault"),
        }
    }

    /// Has some requests of each kind go wrong, again and again.
    async fn disturb(&self, lasts: Duration, faults: &[Value]) -> Result<()> {
        let begun = Instant::now();
        while begun.elapsed() < lasts {
            let planned = REQUESTS
                .iter()
                .flat_map(|on| faults.iter().map(move |fault| json!({ "on": on, "times": TIMES, "fault": fault })));
            self.tell("faults", &planned.collect()).await?;
            sleep(EVERY).await;
        }
        self.tell("heal", &json!({})).await
    }

    async fn tell(&self, what: &str, body: &Value) -> Result<()> {
        let (status, answer) = self.client.post(&format!("/stand-in/{what}"), &body.to_string()).await?;
        ensure!(status == 200, "the stand-in refuses {what}: {status}: {answer}");
        Ok(())
    }
}
