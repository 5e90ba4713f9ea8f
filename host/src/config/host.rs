//! The `[host]` section.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Secret;
use super::section::Section;
use super::tiers;
use crate::topic::Tier;

/// A shorter admin token could be found by trying; in characters.
const SHORTEST_TOKEN: usize = 16;

/// Settings of the process as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostConfig {
    /// Where the admin API listens. Loopback where there is no token; port 0 means any free port.
    pub admin: SocketAddr,
    /// What callers of the admin API must know, fit for an HTTP header; `None` where it answers everybody.
    pub admin_token: Option<Secret>,
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
            admin_token: None,
            state: folder.join("state"),
            park: None,
            tiers: tiers::default_tiers(),
            shutdown_timeout: Duration::from_secs(30),
        };
        let Some(section) = section else { return host };
        host.admin_token = read_token(&section);
        // A token that is there and wrong has been reported, and needs no second report.
        let asks = section.value("admin_token").is_some();
        if let Some(admin) = read_admin(&section, asks) {
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

fn read_admin(section: &Section<'_>, asks_for_token: bool) -> Option<SocketAddr> {
    let text = section.text("admin")?;
    match text.get_ref().parse::<SocketAddr>() {
        Ok(address) if asks_for_token || address.ip().is_loopback() => return Some(address),
        Ok(address) => section.problems.error(
            &text.span(),
            format!("the admin API cannot listen on {}: it does not ask who is calling", address.ip()),
            format!(
                "demand a token with admin_token = {{ env = \"NAME\" }} or {{ file = \"PATH\" }}, or write \"127.0.0.1:{}\"",
                address.port()
            ),
        ),
        Err(_) => section.problems.error(
            &text.span(),
            format!("\"{}\" is not an address with a port", text.get_ref()),
            "write numbers, such as \"127.0.0.1:7878\" or \"[::1]:7878\"",
        ),
    }
    None
}

fn read_token(section: &Section<'_>) -> Option<Secret> {
    const CURE: &str = "make one with: openssl rand -hex 32";
    let token = section.secret("admin_token")?;
    let text = token.get_ref().expose();
    let message = if text.len() < SHORTEST_TOKEN {
        format!("the admin token is shorter than {SHORTEST_TOKEN} characters")
    } else if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        "the admin token has blanks or other characters that do not fit into an HTTP header".to_owned()
    } else {
        return Some(token.into_inner());
    };
    section.problems.error(&token.span(), message, CURE);
    None
}
