//! The addresses of one broker, tried in turn.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::Address;
use crate::broker::BrokerError;

/// At least one address.
pub(in crate::broker::rabbitmq) struct Addresses {
    list: Vec<Address>,
    /// The one that the last connection was made to.
    last_good: AtomicUsize,
}

impl Addresses {
    /// Reads the URLs of a broker.
    pub(in crate::broker::rabbitmq) fn parse(name: &str, urls: &[String]) -> Result<Self, BrokerError> {
        if urls.is_empty() {
            return Err(BrokerError::Unfit(format!(
                "broker '{name}' has no address: give it a `url`, or several `urls`"
            )));
        }
        let key = if urls.len() == 1 { "url" } else { "urls" };
        let list = urls.iter().map(|url| Address::parse(name, key, url)).collect::<Result<_, _>>()?;
        Ok(Self { list, last_good: AtomicUsize::new(0) })
    }

    /// Whether one of them is spoken to over TLS.
    pub(in crate::broker::rabbitmq) fn any_secure(&self) -> bool {
        self.list.iter().any(Address::is_secure)
    }

    /// The one that was good last, or the first. For messages before there is a connection.
    pub(in crate::broker::rabbitmq) fn first(&self) -> &Address {
        &self.list[self.last_good.load(Ordering::Relaxed)]
    }

    /// Tries each once, from the last good one on, until one gives what is wanted.
    pub(in crate::broker::rabbitmq) async fn in_turn<T, F>(
        &self,
        attempt: impl Fn(Address) -> F,
    ) -> Result<T, BrokerError>
    where
        F: Future<Output = Result<T, BrokerError>>,
    {
        let first = self.last_good.load(Ordering::Relaxed);
        let mut failures = Vec::new();
        for index in (0..self.list.len()).map(|turn| (first + turn) % self.list.len()) {
            match attempt(self.list[index].clone()).await {
                Ok(made) => {
                    self.last_good.store(index, Ordering::Relaxed);
                    return Ok(made);
                }
                Err(failure) => failures.push(failure),
            }
        }
        Err(match <[BrokerError; 1]>::try_from(failures) {
            Ok([failure]) => failure,
            Err(failures) => BrokerError::Unreachable {
                broker: format!("broker '{}'", self.list[first].name),
                reason: failures.iter().map(ToString::to_string).collect::<Vec<_>>().join("; and "),
            },
        })
    }
}
