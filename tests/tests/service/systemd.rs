//! systemd's side of the socket, played by the test.

use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use nix::sys::signal::Signal;
use nix::time::{ClockId, clock_gettime};

use crate::PATIENCE;
use crate::place::{Place, ROUTE};

/// Whoever reads what services say.
struct Manager(UnixDatagram);

impl Manager {
    fn at(place: &Place) -> Self {
        Self::reading(UnixDatagram::bind(place.path("notify")).unwrap())
    }

    fn reading(socket: UnixDatagram) -> Self {
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        Self(socket)
    }

    fn next(&self) -> String {
        let mut buffer = [0; 4096];
        let length = self.0.recv(&mut buffer).expect("the program says something in time");
        String::from_utf8(buffer[..length].to_vec()).unwrap()
    }

    /// The next that begins so; others are passed over.
    fn wait_for(&self, beginning: &str) -> String {
        std::iter::repeat_with(|| self.next()).find(|told| told.starts_with(beginning)).unwrap()
    }

    /// Everything that comes before nothing has come for this long.
    fn until_silent_for(&self, time: Duration) {
        self.0.set_read_timeout(Some(time)).unwrap();
        while self.0.recv(&mut [0; 4096]).is_ok() {}
        self.0.set_read_timeout(Some(PATIENCE)).unwrap();
    }
}

fn monotonic_now() -> u128 {
    Duration::from(clock_gettime(ClockId::CLOCK_MONOTONIC).unwrap()).as_micros()
}

#[test]
fn each_step_of_a_hosts_life_is_told() {
    let place = Place::new("", ROUTE);
    let manager = Manager::at(&place);
    let socket = place.path("notify");
    let mut program = place.run(&[], &[("NOTIFY_SOCKET", socket.to_str().unwrap())]);

    assert_eq!(manager.next(), "READY=1");
    manager.wait_for("STATUS=1 of 1 route takes messages");

    let before = monotonic_now();
    program.signal(Signal::SIGHUP);
    let reloading = manager.wait_for("RELOADING=1");
    let told: u128 = reloading.strip_prefix("RELOADING=1\nMONOTONIC_USEC=").unwrap().parse().unwrap();
    assert!((before..=monotonic_now()).contains(&told), "{told} is the time of the reload");
    manager.wait_for("READY=1");

    program.signal(Signal::SIGTERM);
    manager.wait_for("STOPPING=1");
    assert_eq!(program.wait_for_end().code(), Some(0));
}

#[test]
fn a_host_that_waits_for_a_policy_is_up_and_says_so() {
    let route = ROUTE.replace("source =", "policy = \"missing\"\nsource =");
    let place = Place::new("", &format!("[policies]\nfolder = \"policies\"\n{route}"));
    std::fs::create_dir(place.path("policies")).unwrap();
    let manager = Manager::at(&place);
    let program = place.run(&[], &[("NOTIFY_SOCKET", place.path("notify").to_str().unwrap())]);
    assert_eq!(manager.next(), "READY=1");
    let status = manager.wait_for("STATUS=");
    assert!(status.starts_with("STATUS=0 of 1 route takes messages; orders: no policy: "), "{status}");
    assert!(!status.contains('\n'), "{status}");
    program.stop();
}

#[test]
fn a_socket_in_the_abstract_namespace_is_reached() {
    let name = format!("reprieve-test-{}", uuid::Uuid::new_v4());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let manager = Manager::reading(UnixDatagram::bind_addr(&address).unwrap());
    let program = Place::new("", ROUTE).run(&[], &[("NOTIFY_SOCKET", &format!("@{name}"))]);
    assert_eq!(manager.next(), "READY=1");
    program.stop();
}

#[test]
fn a_host_that_does_not_run_does_not_feed_the_watchdog() {
    let place = Place::new("", ROUTE);
    let manager = Manager::at(&place);
    let socket = place.path("notify");
    let variables = [("NOTIFY_SOCKET", socket.to_str().unwrap()), ("WATCHDOG_USEC", "600000")];
    let program = place.run(&[], &variables);
    manager.wait_for("WATCHDOG=1");
    manager.wait_for("WATCHDOG=1");

    program.signal(Signal::SIGSTOP);
    manager.until_silent_for(Duration::from_millis(1200));
    program.signal(Signal::SIGCONT);
    manager.wait_for("WATCHDOG=1");
    program.stop();
}

#[test]
fn without_a_watchdog_none_is_fed_and_a_socket_that_is_gone_stops_nothing() {
    let place = Place::new("", ROUTE);
    let manager = Manager::at(&place);
    let socket = place.path("notify");
    let variables = [("NOTIFY_SOCKET", socket.to_str().unwrap()), ("WATCHDOG_USEC", "1000"), ("WATCHDOG_PID", "1")];
    let program = place.run(&[], &variables);
    manager.wait_for("STATUS=1 of 1");
    manager.0.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    assert!(manager.0.recv(&mut [0; 4096]).is_err(), "the watchdog is another process's");

    std::fs::remove_file(&socket).unwrap();
    program.signal(Signal::SIGHUP);
    program.wait_for_line("cannot tell the service manager");
    program.stop();
}
