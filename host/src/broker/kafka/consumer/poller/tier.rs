//! When a record of a tier is due, by the clock of the broker that leads its partition, and where it goes then.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{FutureProducer, FutureRecord};
use rdkafka::{ClientConfig, Timestamp};
use tokio::runtime::Handle;
use tokio::time::sleep;
use tracing::{debug, warn};

use crate::broker::Target;
use crate::broker::kafka::consumer::Forward;
use crate::broker::kafka::consumer::broker_clock::BrokerClock;
use crate::broker::kafka::consumer::remembered::Place;
use crate::broker::kafka::consumer::settler::Out;
use crate::broker::kafka::consumer::shared::Shared;
use crate::broker::kafka::tiers;
use crate::delivery::Doubling;
use crate::message::Message;
use crate::topic::Topic;

/// On a record that asks the broker for its time, and says nothing else.
const PROBE: &str = "reprieve-probe";

/// A clock that was read longer ago is read again before a record waits for it: it loses half a second in a quarter of an hour.
const FRESH: Duration = Duration::from_secs(15 * 60);

/// A broker that did not tell its time is asked again.
const ASK_AGAIN: Duration = Duration::from_secs(5);

/// What a record for another topic is tried again after.
const BACK_OFF: Doubling = Doubling { initial: Duration::from_secs(1), max: Duration::from_secs(30) };

/// The clock of the broker that leads one partition of a tier.
#[derive(Default)]
pub(super) struct TierClock {
    clock: Mutex<BrokerClock>,
    /// The broker was asked, and no answer is here yet.
    asked: AtomicBool,
    /// An answer has come.
    news: AtomicBool,
}

/// Whether a record may come out.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Due {
    Now,
    /// Surely by then.
    At(Instant),
    /// By then; sooner perhaps, which the broker's time would tell.
    AskFirst(Instant),
}

impl TierClock {
    /// Whether a record that was appended then has waited so long.
    pub(super) fn due(&self, appended: Timestamp, delay: Duration, now: Instant) -> Due {
        let mut clock = self.clock.lock().unwrap_or_else(PoisonError::into_inner);
        let appended = match appended {
            Timestamp::LogAppendTime(at) => at,
            // By the sender's clock, which proves nothing: counted from when it was first seen, it waits too long at most.
            Timestamp::CreateTime(_) | Timestamp::NotAvailable => return Due::AskFirst(now + delay),
        };
        clock.see(appended, now);
        let due = appended.saturating_add(i64::try_from(delay.as_millis()).unwrap_or(i64::MAX));
        match clock.until(due, now) {
            Some(Duration::ZERO) => Due::Now,
            until => {
                let at = now + until.unwrap_or(delay).min(delay.saturating_mul(2));
                let is_known = clock.age(now).is_some_and(|age| age < FRESH) && self.was_told();
                if is_known || self.asked.load(Ordering::Acquire) { Due::At(at) } else { Due::AskFirst(at) }
            }
        }
    }

    fn was_told(&self) -> bool {
        false
    }

    /// Whether the broker's time has come since.
    pub(super) fn take_news(&self) -> bool {
        self.news.swap(false, Ordering::AcqRel)
    }
}
