//! The connections to consume on: one for all sources, until the broker hands out a message that the client library
//! cannot read. That ends the connection, with every delivery on it, each time the message is handed out. From then on
//! each source has a connection of its own, so that only the source of that message suffers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::join_all;

use super::address::Address;
use super::link::Link;
use super::session::Session;
use crate::broker::BrokerError;

pub(super) struct Consuming {
    address: Arc<Address>,
    /// For all sources, and for looking around on the broker.
    shared: Link,
    /// By source, once they are kept apart.
    apart: Mutex<Option<HashMap<String, Arc<Link>>>>,
}

impl Consuming {
    pub(super) fn new(address: Arc<Address>) -> Self {
        Self { shared: Link::new(address.clone(), "consuming"), apart: Mutex::default(), address }
    }

    /// The connection that no message comes on where sources are kept apart.
    pub(super) async fn session(&self) -> Result<Arc<Session>, BrokerError> {
        self.shared.session().await
    }

    /// The connection to consume `source` on.
    pub(super) async fn session_for(&self, source: &str) -> Result<Arc<Session>, BrokerError> {
        match self.own_link(source) {
            Some(link) => link.session().await,
            None => self.shared.session().await,
        }
    }

    /// Something came that could not be read.
    pub(super) fn keep_sources_apart(&self) {
        self.apart.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default();
    }

    pub(super) async fn close(&self) {
        let own: Vec<_> = {
            let mut apart = self.apart.lock().unwrap_or_else(PoisonError::into_inner);
            apart.iter_mut().flat_map(HashMap::drain).map(|(_, link)| link).collect()
        };
        tokio::join!(self.shared.close(), join_all(own.iter().map(|link| link.close())));
    }

    fn own_link(&self, source: &str) -> Option<Arc<Link>> {
        let mut apart = self.apart.lock().unwrap_or_else(PoisonError::into_inner);
        let make = || Arc::new(Link::new(self.address.clone(), "consuming apart"));
        Some(apart.as_mut()?.entry(source.to_owned()).or_insert_with(make).clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_source_has_one_connection_of_its_own_once_they_are_kept_apart() {
        let address = Address::parse("main", "amqp://127.0.0.1:1/%2f").unwrap();
        let consuming = Consuming::new(Arc::new(address));
        assert!(consuming.own_link("orders").is_none());
        consuming.keep_sources_apart();
        let orders = consuming.own_link("orders").unwrap();
        consuming.keep_sources_apart();
        assert!(Arc::ptr_eq(&orders, &consuming.own_link("orders").unwrap()));
        assert!(!Arc::ptr_eq(&orders, &consuming.own_link("refunds").unwrap()));
    }
}
