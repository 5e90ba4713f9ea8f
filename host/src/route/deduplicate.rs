//! Messages that were handled before and are sent again.
//!
//! A success is recorded before its ack. What failed is not: its copies and redeliveries are run. Where the store cannot
//! be read or written the message is run and acknowledged all the same: a duplicate is better than a loss.

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tracing::{error, info};

use super::Route;
use super::key::{KeyDigest, KeySource};
use crate::broker::Origin;
use crate::message::Message;
use crate::store::{HandledKey, Store, StoreError};

/// How a route knows a message that it has handled before.
#[derive(Debug, Clone)]
pub struct Deduplicate {
    /// What two sendings of one message have in common.
    pub by: KeySource,
    /// For how long after its success a message is known.
    pub window: Duration,
    /// Where successes are recorded.
    pub store: Store,
}

/// Whether the store worked the last time, so that the log tells of changes only.
#[derive(Debug, Default)]
pub(super) struct StoreTrouble(AtomicBool);

impl Route {
    /// Whether this message was handled within the window, as far as the store can tell.
    pub(super) async fn is_duplicate(&self, message: &Message, origin: &Origin) -> bool {
        let Some((settings, key)) = self.handled_key(message, origin) else { return false };
        let found = settings.store.was_handled(key, self.now(), settings.window).await;
        self.observe_store(found, "read").unwrap_or(false)
    }

    /// Remembers that this message was handled.
    pub(super) async fn record_success(&self, message: &Message, origin: &Origin) {
        if let Some((settings, key)) = self.handled_key(message, origin) {
            let recorded = settings.store.record_handled(key, self.now(), settings.window).await;
            self.observe_store(recorded, "write");
        }
    }

    fn handled_key(&self, message: &Message, origin: &Origin) -> Option<(&Deduplicate, HandledKey)> {
        let settings = self.spec.deduplicate.as_ref()?;
        let KeyDigest(digest) = settings.by.digest(message, origin, &self.names, &self.spec.name)?;
        Some((settings, HandledKey { route: self.spec.name.clone(), digest }))
    }

    fn observe_store<T>(&self, result: Result<T, StoreError>, action: &'static str) -> Option<T> {
        let route = &self.spec.name;
        match result {
            Ok(value) => {
                if self.store_trouble.0.swap(false, Ordering::Relaxed) {
                    info!(%route, "the store works again: duplicates are found");
                }
                Some(value)
            }
            Err(problem) => {
                self.metrics.store_failures.inc();
                if !self.store_trouble.0.swap(true, Ordering::Relaxed) {
                    error!(%route, %problem, action, "duplicates may run until the store works again");
                }
                None
            }
        }
    }
}
