//! What the rig needs of a kind of broker: one to start, to send through, to watch and to break.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use async_trait::async_trait;
use tokio::sync::watch;

use crate::books::{Books, Message, Trouble};
use crate::faults::{Fault, Kind, Repertoire};
use crate::stalls::Stall;

/// The broker of a run, with all that the rig itself does there: past every proxy, and as long as it takes where the broker
/// is down.
#[async_trait]
pub(crate) trait Broker: Send + Sync {
    /// What can be done to hosts and broker.
    fn repertoire(&self) -> &'static Repertoire;

    /// What a host is told that comes in through this proxy.
    fn terms(&self, proxy: SocketAddr) -> Terms;

    /// Waits until so many hosts consume.
    async fn consumed_by(&self, hosts: usize) -> Result<()>;

    /// Sends so many messages a second until it is told to stop. No message is sent twice: one that was not confirmed may
    /// or may not have arrived.
    async fn produce(&self, rate: u32, books: Arc<Books>, stop: watch::Receiver<bool>);

    /// Writes down what arrives where the rig looks, such as dead letters, for ever.
    async fn observe(&self, books: Arc<Books>);

    /// Notes how far the hosts are at this moment of the run.
    async fn sample(&self, now: f64);

    /// Inflicts a fault that concerns all hosts, and returns once all is as it was.
    async fn inflict(&self, kind: Kind, lasts: Duration, books: &Books) -> Result<()>;

    /// Demands, on this occasion, that nothing was settled which has no outcome; where settling can be seen from outside.
    async fn prove(&self, occasion: &str, books: &Books) -> Result<()>;

    /// How many messages are on source and tiers, those in the hands of hosts included.
    async fn waiting(&self) -> Result<u64>;

    /// Once the hosts are gone: writes down the last dead letters, and what is left on source and tiers. What went wrong is
    /// given, after which all the rest was done.
    async fn close(&self, books: &Books) -> Vec<anyhow::Error>;

    /// What beside the books speaks for or against the hosts.
    fn findings(&self, course: &Course<'_>) -> Findings;
}

/// What stands in a host's configuration, as TOML.
#[derive(Debug, Clone)]
pub(crate) struct Terms {
    /// Under `[brokers.main]`.
    pub(crate) broker: String,
    /// Under `[[routes]]`: the source, and where dead letters go.
    pub(crate) route: String,
}

/// What happened in a run.
#[derive(Clone, Copy)]
pub(crate) struct Course<'r> {
    pub(crate) messages: &'r BTreeMap<u64, Message>,
    pub(crate) faults: &'r [Fault],
    pub(crate) hosts: usize,
    /// Its length.
    pub(crate) seconds: f64,
}

/// What a broker's own books say in the end.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// How many duplicates the faults explain.
    pub(crate) bound: usize,
    /// What that is.
    pub(crate) bound_is: &'static str,
    pub(crate) stall: Option<Stall>,
    pub(crate) troubles: Vec<Trouble>,
    /// Further rows of the table: name, count, remark.
    pub(crate) rows: Vec<(&'static str, usize, String)>,
    /// Why the run has failed.
    pub(crate) failures: Vec<String>,
}
