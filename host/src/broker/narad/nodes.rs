//! The nodes of one cluster, and how they are asked. Any node answers for all of them.
//!
//! `address`: how a node is written. `call`: one request. `reply`: what came back, and what it means that nothing did.

mod address;
mod call;
mod reply;

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use reqwest::header::{CONTENT_TYPE, HeaderValue};
use reqwest::{Client, Method, StatusCode};

use self::address::Address;
pub(super) use self::call::Call;
pub(super) use self::reply::{NoReply, Reply};
use super::settings::NaradSettings;
use crate::broker::BrokerError;
use crate::http_client;

/// Servers commonly drop an idle connection; one that is kept for less is not found closed by a request.
const IDLE: Duration = Duration::from_secs(20);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// A request without this or a content type is refused with 415 from v2.2.0 on, an ack without a body included.
const CLIENT_HEADER: &str = "x-narad-client";
const CLIENT: &str = concat!("reprieve/", env!("CARGO_PKG_VERSION"));
/// So long a node is not asked again for a batch of acks that it did not understand: it may be upgraded meanwhile.
const OLD_FOR: Duration = Duration::from_secs(10 * 60);

/// The nodes of a broker in the configuration.
pub(super) struct Nodes {
    /// The broker's name, for messages.
    pub(super) name: String,
    /// What the configuration calls the addresses.
    key: &'static str,
    client: Client,
    nodes: Vec<Node>,
    /// The one to ask next: the last that answered.
    current: AtomicUsize,
    start: Instant,
}

struct Node {
    address: Address,
    /// Until when it is taken for one that knows no batches of acks, in milliseconds from `start`.
    old_until: AtomicUsize,
}

impl Nodes {
    /// Reads the settings. Connects to nothing.
    pub(super) fn new(settings: &NaradSettings) -> Result<Self, BrokerError> {
        let key = if settings.urls.len() == 1 { "url" } else { "urls" };
        let unfit = |what: &str| BrokerError::Unfit(format!("`{key}` of broker '{}' {what}", settings.name));
        let read = |url: &String| Address::read(url).map_err(unfit);
        let nodes = settings.urls.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        if nodes.is_empty() {
            return Err(unfit("names no node: write it as http://host:7942"));
        }
        // A proxy of the system would be shown the login, and a redirect would take it elsewhere.
        let client = http_client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT_TIMEOUT)
            .pool_idle_timeout(IDLE);
        let client = if nodes.iter().any(Address::is_secure) {
            let tls = settings
                .tls
                .load()
                .map_err(|error| unfit(&format!("cannot be used: {}; {} it", error.what, error.cure)))?;
            client.tls_backend_preconfigured(tls)
        } else {
            client
        };
        let client = client.build().map_err(|_| unfit("cannot be used, since the system gives no HTTP client"))?;
        let nodes = nodes.into_iter().map(|address| Node { address, old_until: AtomicUsize::new(0) }).collect();
        let (current, start) = (AtomicUsize::new(0), Instant::now());
        Ok(Self { name: settings.name.clone(), key, client, nodes, current, start })
    }

    /// Asks the current node. Where it could not even be connected to, the next one, until each was tried.
    pub(super) async fn ask(&self, call: &Call<'_>) -> Result<Reply, NoReply> {
        let first = self.current.load(Ordering::Relaxed);
        let mut unsent = None;
        for turn in 0..self.nodes.len() {
            let number = (first + turn) % self.nodes.len();
            let outcome = self.ask_node(number, call).await;
            match &outcome {
                Ok(reply) if !reply.is_trouble() => self.current.store(number, Ordering::Relaxed),
                // It answers, and cannot do it: another may. Who called knows whether it may be asked again.
                Ok(_) | Err(NoReply::Unanswered(_)) => {
                    self.current.store((number + 1) % self.nodes.len(), Ordering::Relaxed);
                }
                Err(NoReply::Unsent(_)) => {
                    unsent = Some(outcome);
                    continue;
                }
            }
            return outcome;
        }
        unsent.unwrap_or_else(|| Err(NoReply::Unsent("there are no nodes".to_owned())))
    }

    /// Asks every node, whichever is current.
    pub(super) async fn ask_each(&self, call: &Call<'_>) -> Vec<Result<Reply, NoReply>> {
        futures_util::future::join_all((0..self.nodes.len()).map(|number| self.ask_node(number, call))).await
    }

    async fn ask_node(&self, number: usize, call: &Call<'_>) -> Result<Reply, NoReply> {
        let Node { address, .. } = &self.nodes[number];
        let mut request = self.client.request(call.method.clone(), address.url(call)).timeout(call.timeout);
        request = request.header(CLIENT_HEADER, CLIENT);
        if let Some((user, password)) = &address.login {
            request = request.basic_auth(user, Some(password));
        }
        if call.method == Method::POST {
            request = request.header(CONTENT_TYPE, HeaderValue::from_static(call.content_type));
        }
        if let Some(body) = &call.body {
            request = request.body(body.clone());
        }
        let answered = async {
            let answer = request.send().await?;
            let status = answer.status();
            Ok(Reply { status, body: answer.bytes().await?, node: number })
        };
        answered.await.map_err(|error: reqwest::Error| NoReply::read(address, error))
    }

    /// Whether the next node to be asked may know batches of acks.
    pub(super) fn may_batch(&self) -> bool {
        let node = &self.nodes[self.current.load(Ordering::Relaxed) % self.nodes.len()];
        self.millis() >= node.old_until.load(Ordering::Relaxed)
    }

    /// A node did not understand a batch of acks.
    pub(super) fn is_old(&self, reply: &Reply) {
        let until = self.millis().saturating_add(usize::try_from(OLD_FOR.as_millis()).unwrap_or(usize::MAX));
        self.nodes[reply.node].old_until.store(until, Ordering::Relaxed);
    }

    fn millis(&self) -> usize {
        usize::try_from(self.start.elapsed().as_millis()).unwrap_or(usize::MAX)
    }

    /// The error for a broker that gave no answer.
    pub(super) fn unreachable(&self, why: impl fmt::Display) -> BrokerError {
        let reason = format!("{why}; start it, or correct `{}` of [brokers.{}]", self.key, self.name);
        BrokerError::Unreachable { broker: self.to_string(), reason }
    }

    /// The error for an answer that nobody asked for. What is known of the cure comes with it.
    pub(super) fn refused(&self, what: &str, reply: &Reply) -> BrokerError {
        let problem = format!("{self} answered {} to {what}", reply.shown());
        let cure = match reply.status {
            StatusCode::UNAUTHORIZED => {
                format!("correct the user and password in `{}` of [brokers.{}]", self.key, self.name)
            }
            StatusCode::FORBIDDEN => "give the user that grant".to_owned(),
            StatusCode::TOO_MANY_REQUESTS => {
                "after wrong passwords, correct them and wait; else see the node's limits".to_owned()
            }
            _ if reply.is_trouble() => {
                return self.unreachable(format_args!("it answered {} to {what}", reply.shown()));
            }
            _ => "see the node's log".to_owned(),
        };
        BrokerError::Unfit(format!("{problem}: {cure}"))
    }
}

/// `broker 'main' at 127.0.0.1:7942`.
impl fmt::Display for Nodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "broker '{}' at ", self.name)?;
        for (number, node) in self.nodes.iter().enumerate() {
            write!(f, "{}{}", if number == 0 { "" } else { ", " }, node.address)?;
        }
        Ok(())
    }
}
