//! The topics of a run.

use anyhow::{Result, ensure};

use super::client::Client;

/// What the hosts consume.
pub(super) const SOURCE: &str = "torture.orders";
/// The dead letters without a label, and those that are labelled `invalid`.
pub(super) const DEAD: &str = "torture.dead";
pub(super) const INVALID: &str = "torture.invalid";
pub(super) const DEAD_TOPICS: [&str; 2] = [DEAD, INVALID];
/// The topics that messages wait on: the source, and the children of the tiers that hosts make.
pub(super) const WAITING: [&str; 3] = [SOURCE, "reprieve.tier.orders.1s.run", "reprieve.tier.orders.3s.run"];
/// Of each topic.
pub(super) const PARTITIONS: usize = 3;
/// How long a lease lasts on the source: less than the longest stall.
const VISIBILITY_MS: u32 = 10_000;

/// Makes everything but what hosts make themselves.
pub(super) async fn create_all(client: &Client) -> Result<()> {
    for topic in [SOURCE, DEAD, INVALID] {
        let wanted = format!(
            r#"{{"name": "{topic}", "partitions": {PARTITIONS}, "visibility_timeout_ms": {VISIBILITY_MS}, "retention_ms": 0}}"#
        );
        let (status, body) = client.post("/v1/topics", &wanted).await?;
        ensure!(status == 201, "topic {topic} cannot be made: {status}: {body}");
    }
    Ok(())
}
