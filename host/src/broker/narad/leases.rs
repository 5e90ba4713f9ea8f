//! The leases of one consumer: kept by renewing each in time, until it is settled or gone.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::acks::{Answer, Mode, settle_many};
use super::nodes::Nodes;
use super::record::Place;

/// No lease is looked at more often than this, nor less often.
const QUICKEST_LOOK: Duration = Duration::from_millis(20);
const SLOWEST_LOOK: Duration = Duration::from_secs(2);

/// A message that is ours until its lease ends.
pub(super) struct Lease {
    pub(super) place: Place,
    pub(super) handle: String,
    /// How long it lasts unless it is renewed.
    visibility: Duration,
    /// Cancelled when it is lost; never once it is settled.
    pub(super) lost: CancellationToken,
    /// An ack or nack may have been carried out already though nobody said so.
    in_doubt: AtomicBool,
}

impl Lease {
    /// Remembers that the outcome of a settle is not known; whether it was not known before.
    pub(super) fn doubt(&self) {
        self.in_doubt.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_in_doubt(&self) -> bool {
        self.in_doubt.load(Ordering::Relaxed)
    }
}

struct Held {
    lease: Arc<Lease>,
    /// When it was begun or renewed, at the earliest.
    since: Instant,
    renewing: bool,
    /// Room for one message, given back when the lease ends.
    room: Option<OwnedSemaphorePermit>,
}

/// All leases of one consumer, by number.
pub(super) struct Leases {
    nodes: Arc<Nodes>,
    held: Mutex<State>,
}

#[derive(Default)]
struct State {
    next: u64,
    held: HashMap<u64, Held>,
    /// Which of them is of a message.
    places: HashMap<Place, u64>,
}

impl State {
    fn remove(&mut self, number: u64) -> Option<Held> {
        let held = self.held.remove(&number)?;
        if self.places.get(&held.lease.place) == Some(&number) {
            self.places.remove(&held.lease.place);
        }
        Some(held)
    }
}

impl Leases {
    pub(super) fn new(nodes: Arc<Nodes>) -> Arc<Self> {
        Arc::new(Self { nodes, held: Mutex::default() })
    }

    /// Takes on a lease that began at `since` at the earliest. An older one of the same message has come to its end by that.
    pub(super) fn add(&self, place: Place, handle: String, visibility: Duration, since: Instant) -> (u64, Arc<Lease>) {
        let (lost, in_doubt) = (CancellationToken::new(), AtomicBool::new(false));
        let lease = Arc::new(Lease { place: place.clone(), handle, visibility, lost, in_doubt });
        let mut state = self.lock();
        state.next += 1;
        let number = state.next;
        if let Some(older) = state.places.insert(place, number)
            && let Some(older) = state.held.remove(&older)
        {
            older.lease.lost.cancel();
        }
        state.held.insert(number, Held { lease: Arc::clone(&lease), since, renewing: false, room: None });
        (number, lease)
    }

    /// Gives a lease its room; where it is gone already, the room is free again.
    pub(super) fn occupy(&self, number: u64, room: OwnedSemaphorePermit) {
        if let Some(held) = self.lock().held.get_mut(&number) {
            held.room = Some(room);
        }
    }

    /// Forgets a lease that has ended by our doing.
    pub(super) fn release(&self, number: u64) {
        self.lock().remove(number);
    }

    /// Ends a lease that is not ours any more.
    pub(super) fn lose(&self, number: u64) {
        if let Some(held) = self.lock().remove(number) {
            held.lease.lost.cancel();
        }
    }

    /// Every lease that is left, which nobody renews from now on.
    pub(super) fn drain(&self) -> Vec<Arc<Lease>> {
        std::mem::take(&mut *self.lock()).held.into_values().map(|held| held.lease).collect()
    }

    /// Renews each lease after a third of its time, until nobody needs this any more. `shortest`: of all visibility timeouts.
    pub(super) async fn keep(self: Arc<Self>, shortest: Duration, ended: CancellationToken) {
        let mut look = interval((shortest / 12).clamp(QUICKEST_LOOK, SLOWEST_LOOK));
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while ended.run_until_cancelled(look.tick()).await.is_some() {
            for due in self.due() {
                tokio::spawn(Arc::clone(&self).renew(due));
            }
        }
    }

    /// Those that have to be renewed now, by topic. Those whose time is over are lost.
    fn due(&self) -> Vec<Vec<(u64, Arc<Lease>)>> {
        let mut due: HashMap<Arc<str>, Vec<(u64, Arc<Lease>)>> = HashMap::new();
        let now = Instant::now();
        let mut over = Vec::new();
        let mut state = self.lock();
        for (number, held) in &mut state.held {
            let age = now.duration_since(held.since);
            if age >= held.lease.visibility {
                over.push(*number);
            } else if age >= held.lease.visibility / 3 && !held.renewing {
                held.renewing = true;
                let topic = Arc::clone(&held.lease.place.topic);
                due.entry(topic).or_default().push((*number, Arc::clone(&held.lease)));
            }
        }
        for held in over.into_iter().filter_map(|number| state.remove(number)) {
            held.lease.lost.cancel();
        }
        due.into_values().collect()
    }

    /// Renews leases of one topic. What could not be told is tried again at the next look.
    async fn renew(self: Arc<Self>, due: Vec<(u64, Arc<Lease>)>) {
        let Some((_, first)) = due.first() else { return };
        let (topic, timeout) = (Arc::clone(&first.place.topic), first.visibility / 3);
        let handles: Vec<&str> = due.iter().map(|(_, lease)| lease.handle.as_str()).collect();
        let asked = Instant::now();
        let answers = settle_many(&self.nodes, &topic, &handles, Mode::Extend, timeout).await;
        for ((number, lease), answer) in due.iter().zip(answers) {
            match answer {
                Answer::Done => self.renewed(*number, Some(asked)),
                // Its own ack may have ended it: whoever tries that again will learn so.
                Answer::Gone if lease.is_in_doubt() => self.release(*number),
                Answer::Gone => {
                    tracing::warn!(message = %lease.place, "a lease is gone before its message was settled: it will be handed over again");
                    self.lose(*number);
                }
                Answer::Later { why, .. } => {
                    tracing::debug!(%topic, %why, "a lease could not be renewed yet");
                    self.renewed(*number, None);
                }
            }
        }
    }

    fn renewed(&self, number: u64, since: Option<Instant>) {
        if let Some(held) = self.lock().held.get_mut(&number) {
            held.renewing = false;
            held.since = since.unwrap_or(held.since);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics half-way through a change, so what a poisoned lock guards is whole.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
