//! The `[host]` section.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::section::Section;
use super::tiers;
use crate::topic::Tier;

/// Settings of the process as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostConfig {
    /// Where the admin API listens. Loopback; port 0 means any free port.
    pub admin: SocketAddr,
    /// The folder of last good policies and ledgers.
    pub state: PathBuf,
    /// The folder for messages that a broker never takes; `None` where they are held instead.
    pub park: Option<PathBuf>,
    /// The durable delays that routes may use, shortest first, their names and delays distinct.
    pub tiers: Vec<Tier>,
    /// How long running attempts may take to end at shutdown.
    pub shutdown_timeout: Duration,
}

impl HostConfig {
    pub(super) fn read(section: Option<Section<'_>>, folder: &Path) -> Self {
        let mut host = Self {
            admin: (Ipv4Addr::LOCALHOST, 7878).into(),
            state: folder.join("state"),
            park: None,
            tiers: tiers::default_tiers(),
            shutdown_timeout: Duration::from_secs(30),
        };
        let Some(section) = section else { return host };
        if let Some(admin) = read_admin(&section) {
            host.admin = admin;
        }
        if let Some(state) = section.text("state") {
            host.state = folder.join(state.get_ref());
        }
        host.park = section.text("park").map(|park| folder.join(park.get_ref()));
        if let Some(tiers) = tiers::read_host_tiers(&section) {
            host.tiers = tiers;
        }
        if let Some(timeout) = section.duration("shutdown_timeout") {
            host.shutdown_timeout = timeout.into_inner();
        }
        section.finish();
        host
    }
}

fn read_admin(section: &Section<'_>) -> Option<SocketAddr> {
    let text = section.text("admin")?;
    match text.get_ref().parse::<SocketAddr>() {
        Ok(address) if address.ip().is_loopback() => return Some(address),
        Ok(address) => section.problems.error(
            &text.span(),
            format!("the admin API cannot listen on {}: it does not ask who is calling", address.ip()),
            format!("write \"127.0.0.1:{}\", and reach it from elsewhere through a proxy or a tunnel", address.port()),
        ),
        Err(_) => section.problems.error(
            &text.span(),
            format!("\"{}\" is not an address with a port", text.get_ref()),
            "write numbers, such as \"127.0.0.1:7878\" or \"[::1]:7878\"",
        ),
    }
    None
}
