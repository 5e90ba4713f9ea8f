//! Ports that nobody has.

use std::net::{Ipv4Addr, TcpListener};

use anyhow::{Context as _, Result};

/// Ports of 127.0.0.1 that nobody listens on now.
///
/// # Errors
/// Where the system has none to give.
pub fn free_ports<const N: usize>() -> Result<[u16; N]> {
    // All are held until each is found, so that none is found twice.
    let mut listeners = Vec::with_capacity(N);
    for _ in 0..N {
        listeners.push(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free port on 127.0.0.1")?);
    }
    let mut ports = [0; N];
    for (port, listener) in ports.iter_mut().zip(&listeners) {
        *port = listener.local_addr()?.port();
    }
    Ok(ports)
}
