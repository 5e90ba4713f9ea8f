//! The `[host]` section.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::topic::Tier;

/// Settings of the process as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostConfig {
    /// Where the admin API listens. Loopback; port 0 means any free port.
    pub admin: SocketAddr,
    /// The folder of last good policies and ledgers.
    pub state: PathBuf,
    /// The durable delays that routes may use, shortest first, their names and delays distinct.
    pub tiers: Vec<Tier>,
    /// How long running attempts may take to end at shutdown.
    pub shutdown_timeout: Duration,
}
