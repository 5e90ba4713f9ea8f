//! systemd, or whatever started the program and set `NOTIFY_SOCKET`: it is told how the host is.

use std::convert::Infallible;
use std::env;
use std::ffi::OsStr;
use std::future::pending;
use std::io;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use tokio::time::sleep;
use tracing::{error, warn};

use crate::admin::{NotReady, StatusSource as _};
use crate::host::{HostPulse, HostStatus};

/// How soon a change of what routes do is told.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// The service manager, or nobody.
pub(super) struct ServiceManager {
    socket: Option<(UnixDatagram, SocketAddr)>,
    /// It wants a sign of life within this time, again and again.
    watchdog: Option<Duration>,
}

impl ServiceManager {
    /// The one that the environment names. One that cannot be reached is warned of, and is no reason not to run.
    pub(super) fn from_environment() -> Self {
        let path = env::var_os("NOTIFY_SOCKET").filter(|path| !path.is_empty());
        let socket = path.and_then(|path| match connect(&path) {
            Ok(socket) => Some(socket),
            Err(error) => {
                warn!(%error, "NOTIFY_SOCKET cannot be used: the service manager is told nothing");
                None
            }
        });
        Self { socket, watchdog: watchdog(|name| env::var(name).ok(), std::process::id()) }
    }

    /// The host runs, and has loaded its policies.
    pub(super) fn ready(&self) {
        self.send("READY=1");
    }

    /// Configuration and policies are read again; [`Self::ready`] ends that.
    pub(super) fn reloading(&self) {
        // A clock that cannot be read leaves the time out, which only `Type=notify-reload` needs.
        let now = clock_gettime(ClockId::CLOCK_MONOTONIC).map(Duration::from).unwrap_or_default();
        self.send(&format!("RELOADING=1\nMONOTONIC_USEC={}", now.as_micros()));
    }

    /// The host ends.
    pub(super) fn stopping(&self) {
        self.send("STOPPING=1\nSTATUS=draining");
    }

    /// Tells how the host is for as long as this is polled: a line of status whenever it changes, and a sign of life only
    /// while every route's loop answers. Poll it where the host's signals are waited for, so that it stands for that as well.
    pub(super) async fn attend(&self, status: HostStatus, pulse: HostPulse) -> Infallible {
        let (never, _) = tokio::join!(self.tell_status(&status), self.feed_watchdog(&pulse));
        never
    }

    async fn tell_status(&self, status: &HostStatus) -> Infallible {
        if self.socket.is_none() {
            return pending().await;
        }
        let mut told = String::new();
        loop {
            let line = describe(status.routes(), &status.not_ready());
            if line != told {
                self.send(&format!("STATUS={line}"));
                told = line;
            }
            sleep(LOOK_AGAIN).await;
        }
    }

    async fn feed_watchdog(&self, pulse: &HostPulse) -> Infallible {
        let (Some(within), Some(_)) = (self.watchdog, &self.socket) else { return pending().await };
        let pause = within / 3;
        loop {
            match pulse.silent(pause).await.as_slice() {
                [] => {
                    self.send("WATCHDOG=1");
                    sleep(pause).await;
                }
                // It is not for this program to end itself: a stall that passes in time is none.
                silent => error!(routes = silent.join(", "), "a route's loop does not run: the watchdog is not fed"),
            }
        }
    }

    fn send(&self, state: &str) {
        let Some((socket, address)) = &self.socket else { return };
        if let Err(error) = socket.send_to_addr(state.as_bytes(), address) {
            warn!(%error, state, "cannot tell the service manager");
        }
    }
}

fn connect(path: &OsStr) -> io::Result<(UnixDatagram, SocketAddr)> {
    let address = address(path)?;
    let socket = UnixDatagram::unbound()?;
    // One that does not read must not hold up the host.
    socket.set_nonblocking(true)?;
    Ok((socket, address))
}

/// A path, or on Linux `@` and a name in the abstract namespace.
fn address(path: &OsStr) -> io::Result<SocketAddr> {
    #[cfg(target_os = "linux")]
    if let Some(name) = std::os::unix::ffi::OsStrExt::as_bytes(path).strip_prefix(b"@") {
        return <SocketAddr as std::os::linux::net::SocketAddrExt>::from_abstract_name(name);
    }
    SocketAddr::from_pathname(path)
}

/// `WATCHDOG_USEC`, where it is meant for this process and not for one that started it.
fn watchdog(variable: impl Fn(&str) -> Option<String>, process: u32) -> Option<Duration> {
    let is_for_us = variable("WATCHDOG_PID").is_none_or(|pid| pid.parse() == Ok(process));
    let microseconds = variable("WATCHDOG_USEC")?.parse().ok().filter(|within| *within > 0)?;
    is_for_us.then(|| Duration::from_micros(microseconds))
}

/// One line, as `systemctl status` shows it.
fn describe(routes: usize, not_ready: &[NotReady]) -> String {
    let ready = routes.saturating_sub(not_ready.len());
    let plural = if routes == 1 { "route takes" } else { "routes take" };
    let mut line = format!("{ready} of {routes} {plural} messages");
    for NotReady { route, reason } in not_ready {
        line.push_str(&format!("; {route}: {}", reason.lines().next().unwrap_or_default()));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_watchdog_of_another_process_is_not_ours() {
        let asked = |usec: &'static str, pid: Option<&'static str>| {
            watchdog(|name| if name == "WATCHDOG_USEC" { Some(usec.into()) } else { pid.map(Into::into) }, 7)
        };
        assert_eq!(asked("30000000", None), Some(Duration::from_secs(30)));
        assert_eq!(asked("30000000", Some("7")), Some(Duration::from_secs(30)));
        for (usec, pid) in [("30000000", Some("8")), ("30000000", Some("x")), ("0", None), ("soon", None)] {
            assert_eq!(asked(usec, pid), None, "{usec} {pid:?}");
        }
        assert_eq!(watchdog(|_| None, 7), None);
    }

    #[test]
    fn the_status_is_one_line_with_what_is_waited_for() {
        let waits = |route: &str, reason: &str| NotReady { route: route.into(), reason: reason.into() };
        assert_eq!(describe(1, &[]), "1 of 1 route takes messages");
        assert_eq!(
            describe(3, &[waits("orders", "no policy: bad file\nsecond line"), waits("mails", "connecting")]),
            "1 of 3 routes take messages; orders: no policy: bad file; mails: connecting"
        );
    }
}
