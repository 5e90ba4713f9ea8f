//! Ordering by key: messages of one key run one at a time, in the order in which they arrived.
//!
//! A consumer around the broker's own hands a delivery out only when its key is free. The delivery carries its lane with
//! its settler, so the lane is free when the last of the delivery is gone: after its end, whatever that was, also where
//! the connection was lost and the handler ran on.

mod lanes;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use futures_util::FutureExt;
use prometheus_client::metrics::gauge::Gauge;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::Route;
use super::key::KeyDigest;
use crate::broker::{BrokerError, Consumer, Delivery, Prepared, SettleError, Settlement, Settler};
use lanes::Lane;
pub(super) use lanes::Lanes;

/// What an operator should know of a source that several hosts may consume at a time; nothing where none can.
pub(super) fn doubt(source: &str, prepared: &Prepared) -> Option<String> {
    const CURE: &str = "with more than one host, messages of one key may run at the same time: declare the queue with \
                        x-single-active-consumer, or run one host";
    match prepared.single_active_consumer {
        Some(true) => None,
        Some(false) => {
            Some(format!("queue '{source}' serves several consumers at a time, and ordering holds in one: {CURE}"))
        }
        None => Some(format!("not checked: whether queue '{source}' has a single active consumer; {CURE}")),
    }
}

/// A consumer that keeps deliveries back while their key is in work.
pub(super) struct OrderedConsumer {
    route: Arc<Route>,
    inner: Box<dyn Consumer>,
    /// Each key's deliveries in the order of their arrival. No key is here without a delivery. The broker bounds
    /// them: no more are unsettled than were asked for in advance.
    waiting: HashMap<KeyDigest, VecDeque<Delivery>>,
    /// These have their lane, or need none.
    ready: VecDeque<Delivery>,
    /// Prefetched when the consumer was stopped.
    untaken: Vec<Delivery>,
}

impl OrderedConsumer {
    pub(super) fn new(route: Arc<Route>, inner: Box<dyn Consumer>) -> Self {
        Self { route, inner, waiting: HashMap::new(), ready: VecDeque::new(), untaken: Vec::new() }
    }

    fn gauge(&self) -> &Gauge {
        &self.route.metrics.waiting
    }

    /// The delivery, if it may run now; else it is kept.
    fn arrive(&mut self, delivery: Delivery) -> Option<Delivery> {
        let Some(key) = self.route.ordering_key(&delivery) else { return Some(delivery) };
        if !self.waiting.contains_key(&key)
            && let Some(lane) = self.route.lanes.claim(key, false)
        {
            // What freed the lane may have gone back, and is older.
            self.take_back();
            if !self.waiting.contains_key(&key) {
                return Some(with_lane(delivery, lane));
            }
            // The lane's end is told, since somebody waits for it.
            self.wait(key, delivery);
            return None;
        }
        self.wait(key, delivery);
        None
    }

    /// Puts a delivery where its place in the log says; behind all others where it has none.
    fn wait(&mut self, key: KeyDigest, delivery: Delivery) {
        let place = delivery.origin.position.as_deref();
        let is_later = |other: &Delivery| {
            place.zip(other.origin.position.as_deref()).is_some_and(|(it, other)| it.is_before(other))
        };
        let queue = self.waiting.entry(key).or_default();
        let index = queue.iter().rposition(|other| !is_later(other)).map_or(0, |before| before + 1);
        queue.insert(index, delivery);
        self.gauge().inc();
    }

    /// Has what was handed back wait in its place, before a lane is given to what came later.
    fn take_back(&mut self) {
        while let Some(delivery) = self.inner.given_back() {
            let Some(key) = self.route.ordering_key(&delivery) else {
                self.ready.push_back(delivery);
                continue;
            };
            self.wait(key, delivery);
            let next = self.resume(key);
            self.ready.extend(next);
        }
    }

    /// The next delivery of a key that has become free.
    fn resume(&mut self, key: KeyDigest) -> Option<Delivery> {
        let mut queue = self.waiting.remove(&key)?;
        let before = queue.len();
        // The broker hands those over again.
        while queue.front().is_some_and(|delivery| delivery.lost.is_cancelled()) {
            queue.pop_front();
        }
        let lane = (!queue.is_empty()).then(|| self.route.lanes.claim(key, queue.len() > 1)).flatten();
        let next = lane.and_then(|lane| queue.pop_front().map(|delivery| with_lane(delivery, lane)));
        self.gauge().dec_by(i64::try_from(before - queue.len()).unwrap_or(i64::MAX));
        if !queue.is_empty() {
            self.waiting.insert(key, queue);
        }
        next
    }
}

#[async_trait]
impl Consumer for OrderedConsumer {
    async fn next(&mut self) -> Result<Delivery, BrokerError> {
        loop {
            self.take_back();
            while self.ready.is_empty()
                && let Some(key) = self.route.lanes.next_freed()
            {
                // What freed the lane was handed back before it did.
                self.take_back();
                let next = self.resume(key);
                self.ready.extend(next);
            }
            if let Some(delivery) = self.ready.pop_front() {
                return Ok(delivery);
            }
            tokio::select! {
                biased;
                () = self.route.lanes.freed() => {}
                delivery = self.inner.next() => {
                    if let Some(delivery) = self.arrive(delivery?) {
                        return Ok(delivery);
                    }
                }
            }
        }
    }

    fn lost(&self) -> CancellationToken {
        self.inner.lost()
    }

    /// What waits stays with this consumer until it is dropped, and goes back untouched then, all at once. Handed back one by
    /// one it would lose its place: quorum queues without a delivery limit put such a message at their end.
    async fn stop(&mut self) {
        // For the same reason: the consumer's own stop hands back what was prefetched and not taken.
        while let Some(Ok(delivery)) = self.inner.next().now_or_never() {
            self.untaken.push(delivery);
        }
        self.inner.stop().await;
        let messages = self.waiting.values().map(VecDeque::len).sum::<usize>() + self.untaken.len();
        if messages > 0 {
            info!(route = %self.route.spec.name, messages, "what waits for its turn goes back when the last handler has ended");
        }
    }

    async fn close(&mut self) {
        self.inner.close().await;
    }
}

impl Drop for OrderedConsumer {
    fn drop(&mut self) {
        let waiting: usize = self.waiting.values().map(VecDeque::len).sum();
        self.gauge().dec_by(i64::try_from(waiting).unwrap_or(i64::MAX));
    }
}

impl Route {
    fn ordering_key(&self, delivery: &Delivery) -> Option<KeyDigest> {
        let source = self.spec.ordering.as_ref()?;
        let key = source.digest(&delivery.message, &delivery.origin, &self.names, &self.spec.name);
        if key.is_none() && !self.lanes.told_of_no_key.swap(true, Ordering::Relaxed) {
            warn!(
                route = %self.spec.name,
                id = delivery.message.id,
                key = %source,
                "a message without this key runs out of order; this is said once"
            );
        }
        key
    }
}

fn with_lane(delivery: Delivery, lane: Lane) -> Delivery {
    Delivery { settler: Arc::new(InLane { settler: delivery.settler, _lane: lane }), ..delivery }
}

/// Settles a delivery, and keeps its lane for as long as anybody could.
struct InLane {
    settler: Arc<dyn Settler>,
    _lane: Lane,
}

#[async_trait]
impl Settler for InLane {
    async fn settle(&self, settlement: Settlement) -> Result<(), SettleError> {
        self.settler.settle(settlement).await
    }

    fn attempt_begins(&self) {
        self.settler.attempt_begins();
    }

    fn attempt_ends(&self) {
        self.settler.attempt_ends();
    }

    async fn note_interruptions(&self, count: u32) -> Result<(), SettleError> {
        self.settler.note_interruptions(count).await
    }
}
