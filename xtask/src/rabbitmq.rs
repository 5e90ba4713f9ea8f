//! A RabbitMQ for the tests: one that answers already, or one of our own.
//!
//! Ours is Debian's `rabbitmq-server`, run without a service manager, with its own node name, ports and data under
//! `~/.cache/reprieve-tests/rabbitmq`. It is left running for the next run; the file `pid` there says which process it is.

pub(crate) mod node;
pub(crate) mod package;

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::Result;

/// The port that RabbitMQ usually has.
const USUAL_PORT: u16 = 5672;

/// Where a broker for the tests answers.
pub(crate) struct Address(SocketAddr);

impl Address {
    /// As a URL, with the login that every fresh broker has for local clients.
    pub(crate) fn url(&self) -> String {
        format!("amqp://guest:guest@{}/%2f", self.0)
    }
}

/// Finds a broker on this machine, or installs and starts one. Says on stderr what it does.
///
/// # Errors
/// Where none answers and none can be installed or started; the text says what to do by hand.
pub(crate) fn ensure() -> Result<Address> {
    // Some tests start a node of their own, with TLS and the management plugin, whoever else answers here.
    package::ensure_installed()?;
    for port in [USUAL_PORT, node::PORT] {
        let address = local(port);
        if answers(address) {
            eprintln!("rabbitmq: using the one that answers on {address}");
            return Ok(Address(address));
        }
    }
    node::start(&node::Node::shared()?)?;
    Ok(Address(local(node::PORT)))
}

fn local(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

/// Whether an AMQP 0-9-1 broker greets a client there: its first frame is a method on channel 0.
fn answers(address: SocketAddr) -> bool {
    let greeting = || -> std::io::Result<[u8; 3]> {
        let timeout = Duration::from_secs(2);
        let mut stream = TcpStream::connect_timeout(&address, timeout)?;
        stream.set_read_timeout(Some(timeout))?;
        stream.write_all(b"AMQP\0\0\x09\x01")?;
        let mut start = [0; 3];
        stream.read_exact(&mut start)?;
        Ok(start)
    };
    greeting().is_ok_and(|start| start == [1, 0, 0])
}
