//! No wait of the rig's is without a bound.

use std::time::Duration;

use anyhow::{Result, bail};
use tokio::time::timeout;

/// What takes no time by itself, on a machine that is busy, or behind a broker that has just come back.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);

/// Waits, and fails with what was waited for where that takes too long.
pub(crate) async fn within<T>(limit: Duration, what: &str, waiting: impl Future<Output = Result<T>>) -> Result<T> {
    match timeout(limit, waiting).await {
        Ok(outcome) => outcome,
        Err(_) => bail!("waited {limit:?} in vain for {what}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_wait_without_end_fails_and_says_what_for() {
        let waited = within(Duration::from_millis(10), "a sign", std::future::pending::<Result<()>>()).await;
        assert_eq!(waited.unwrap_err().to_string(), "waited 10ms in vain for a sign");
    }
}
