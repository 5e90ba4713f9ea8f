//! When a record of a tier is due, by the clock of the broker that leads its partition, and where it goes then.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{FutureProducer, FutureRecord};
use rdkafka::{ClientConfig, Timestamp};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::time::sleep;
use tracing::{debug, warn};

use crate::broker::kafka::consumer::broker_clock::BrokerClock;
use crate::broker::kafka::consumer::remembered::Place;
use crate::broker::kafka::consumer::settler::Out;
use crate::broker::kafka::consumer::shared::Shared;
use crate::broker::kafka::off_runtime::OffRuntime;
use crate::broker::kafka::publisher::Publisher;
use crate::broker::kafka::tiers;
use crate::broker::{PublishError, Target};
use crate::delivery::Doubling;
use crate::message::Message;
use crate::timestamp::Timestamp as HostTime;
use crate::topic::Topic;

/// On a record that asks the broker for its time, and says nothing else.
const PROBE: &str = "reprieve-probe";

/// The time that was told longer ago is asked for again before a record waits for it: in a quarter of an hour the clock here
/// is half a second behind at most.
const FRESH: Duration = Duration::from_secs(15 * 60);

/// A broker that did not tell its time is asked again.
const ASK_AGAIN: Duration = Duration::from_secs(5);

/// A record is looked at again after this time at the latest.
const LONGEST_WAIT: Duration = Duration::from_secs(24 * 60 * 60);

/// What a record for another topic is tried again after.
const BACK_OFF: Doubling = Doubling { initial: Duration::from_secs(1), max: Duration::from_secs(30) };

/// A topic that takes nothing for so long is not waited for: the record would pin its partition.
const GIVE_UP: Duration = Duration::from_secs(5 * 60);

/// Said of a tier that was altered so, after it was found fit: a start refuses it.
pub(super) const WITHOUT_BROKER_TIME: &str = "records of this tier have the senders' times and not the broker's: they are due by \
                                              the clocks of the hosts, early where those differ; set \
                                              message.timestamp.type=LogAppendTime on its topic, for no route starts without";

/// The clock of the broker that leads one partition of a tier.
#[derive(Default)]
pub(super) struct TierClock {
    known: Mutex<Known>,
    /// The broker was asked, and no answer is here yet.
    asked: AtomicBool,
    /// Something came of it since the last look.
    news: AtomicBool,
}

#[derive(Default)]
struct Known {
    clock: BrokerClock,
    /// When the broker told its time.
    told: Option<Instant>,
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
    /// Whether a record with this timestamp has waited so long.
    pub(super) fn due(&self, timestamp: Timestamp, delay: Duration, now: Instant) -> Due {
        let mut known = self.lock();
        let begin = match timestamp {
            Timestamp::LogAppendTime(at) => {
                known.clock.see(at, now);
                at
            }
            // The topic was made, or altered, otherwise: the time is that of the host which published, and so is what it is
            // compared with.
            Timestamp::CreateTime(at) => return due_by_this_clock(at, delay, now),
            Timestamp::NotAvailable => return Due::Now,
        };
        let due = begin.saturating_add(i64::try_from(delay.as_millis()).unwrap_or(i64::MAX));
        let wait = match known.clock.until(due, now) {
            Some(Duration::ZERO) => return Due::Now,
            Some(wait) => wait.min(LONGEST_WAIT),
            None => ASK_AGAIN,
        };
        let is_fresh = known.told.is_some_and(|at| now.saturating_duration_since(at) < FRESH);
        if is_fresh || self.asked.load(Ordering::Acquire) { Due::At(now + wait) } else { Due::AskFirst(now + wait) }
    }

    /// Whether the broker's answer has come since.
    pub(super) fn take_news(&self) -> bool {
        self.news.swap(false, Ordering::AcqRel)
    }

    fn answered(&self, answer: Timestamp) {
        let now = Instant::now();
        let mut known = self.lock();
        known.told = Some(now);
        if let Timestamp::LogAppendTime(at) = answer {
            known.clock.see(at, now);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        // Nothing in here can be left half-done by a panic.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// As good as the clocks of the hosts agree; the route itself waits for the time that the copy names.
fn due_by_this_clock(at: i64, delay: Duration, now: Instant) -> Due {
    let at = HostTime(u64::try_from(at).unwrap_or_default());
    let wait = at.after(delay).since(HostTime::now());
    if wait.is_zero() { Due::Now } else { Due::At(now + wait.min(LONGEST_WAIT)) }
}

/// Asks brokers for their time: the answer to a record that is appended has it.
pub(super) struct Prober {
    config: ClientConfig,
    producer: Arc<OnceLock<OffRuntime<FutureProducer>>>,
}

impl Prober {
    pub(super) fn new(config: ClientConfig) -> Self {
        Self { config, producer: Arc::default() }
    }

    /// Asks the broker that leads a partition, once at a time.
    pub(super) fn ask(&self, place: &Place, clock: &Arc<TierClock>, shared: &Arc<Shared>, runtime: &Handle) {
        if clock.asked.swap(true, Ordering::AcqRel) {
            return;
        }
        let (config, producer) = (self.config.clone(), Arc::clone(&self.producer));
        let (place, clock, shared) = (place.clone(), Arc::clone(clock), Arc::clone(shared));
        runtime.spawn(async move {
            match append(&config, &producer, &place).await {
                Ok(answer) => clock.answered(answer),
                Err(reason) => {
                    debug!(topic = %place.topic, partition = place.partition, reason, "the broker did not tell its time");
                    sleep(ASK_AGAIN).await;
                }
            }
            clock.asked.store(false, Ordering::Release);
            clock.news.store(true, Ordering::Release);
            shared.wake();
        });
    }
}

/// Appends a probe, and gives the time that it has.
async fn append(
    config: &ClientConfig,
    producer: &OnceLock<OffRuntime<FutureProducer>>,
    place: &Place,
) -> Result<Timestamp, String> {
    let producer = match producer.get() {
        Some(producer) => producer,
        None => {
            let made = config.create().map(OffRuntime::new).map_err(|error| error.to_string())?;
            producer.get_or_init(|| made)
        }
    };
    let headers = OwnedHeaders::new().insert(Header { key: PROBE, value: Some("time?") });
    let probe = FutureRecord::<(), [u8]>::to(&place.topic).partition(place.partition).payload(&[]).headers(headers);
    let sent = producer.send(probe, ASK_AGAIN).await;
    sent.map(|delivery| delivery.timestamp).map_err(|(error, _)| error.to_string())
}

/// Whether a record of a tier only asked for the time. A message that waits there says where it goes back to, whatever
/// its sender wrote on it.
pub(super) fn is_probe(message: &Message) -> bool {
    message.headers.get(PROBE).is_some() && message.headers.get(tiers::BACK_TO).is_none() && message.body_size() == 0
}

/// How long a message must still wait by the time that it names. After a change of leaders the clock of another broker counts its
/// delay. It has waited that long by some clock, so another delay is always enough.
pub(super) fn still_early(out: &Out, due_header: &str) -> Duration {
    let due = out.message.headers.text(due_header).and_then(HostTime::parse);
    let early = due.map_or(Duration::ZERO, |due| due.since(HostTime::now()));
    early.min(out.partition.delay.unwrap_or_default())
}

/// Puts a message back on a topic that is not this route's source, when it is no longer early; only then is its record in the tier
/// decided. What the topic does not take goes to the route, which judges it like a failure that has just arrived (rule 5).
pub(super) async fn forward(
    out: Out,
    topic: String,
    early: Duration,
    publisher: Arc<Publisher>,
    shared: Arc<Shared>,
    records: mpsc::Sender<Out>,
) {
    let (lost, target) = (out.partition.lost.clone(), Target::Topic(Topic::Named(topic)));
    if lost.run_until_cancelled(sleep(early)).await.is_none() {
        return;
    }
    let begin = Instant::now();
    for tries in 0.. {
        let published = publisher.publish(&target, &out.message);
        match lost.run_until_cancelled(published).await {
            None => return,
            Some(Ok(())) => break,
            Some(Err(error)) => {
                if is_hopeless(&error, begin.elapsed()) {
                    warn!(id = out.message.id, %target, %error, "a delayed message cannot be put back: its route judges it again");
                    // Nobody takes it where the consumer is gone; its record stays undecided.
                    let _ = lost.run_until_cancelled(records.send(out)).await;
                    return;
                }
                let retry_in = BACK_OFF.after(tries);
                warn!(id = out.message.id, %target, %error, ?retry_in, "a delayed message cannot be put back now");
                if lost.run_until_cancelled(sleep(retry_in)).await.is_none() {
                    return;
                }
            }
        }
    }
    if let Err(error) = out.decide(&shared) {
        debug!(id = out.message.id, %error, "a delayed message was put back, and may be again");
    }
}

/// Whether a publish that failed, after it was tried for this long, is not tried any more.
fn is_hopeless(error: &PublishError, tried: Duration) -> bool {
    !matches!(error, PublishError::Outage(_)) || tried >= GIVE_UP
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_topic_refuses_is_not_tried_again_and_an_outage_is_waited_for_but_not_for_ever() {
        let text = || "no".to_owned();
        assert!(is_hopeless(&PublishError::TooLarge(text()), Duration::ZERO));
        assert!(is_hopeless(&PublishError::Refused(text()), Duration::ZERO));
        assert!(!is_hopeless(&PublishError::Outage(text()), GIVE_UP.saturating_sub(Duration::from_secs(1))));
        assert!(is_hopeless(&PublishError::Outage(text()), GIVE_UP));
    }

    const DELAY: Duration = Duration::from_secs(30);

    fn wait(due: &Due, now: Instant) -> Option<Duration> {
        match due {
            Due::Now => None,
            Due::At(at) | Due::AskFirst(at) => Some(*at - now),
        }
    }

    #[test]
    fn a_record_that_was_appended_long_ago_is_due_as_soon_as_the_broker_tells_its_time() {
        let (clock, now) = (TierClock::default(), Instant::now());
        let old = Timestamp::LogAppendTime(1_000_000);
        let due = clock.due(old, DELAY, now);
        assert!(matches!(due, Due::AskFirst(_)) && wait(&due, now) >= Some(DELAY), "{due:?}");
        clock.answered(Timestamp::LogAppendTime(1_000_000 + 29_000));
        let due = clock.due(old, DELAY, Instant::now());
        assert!(matches!(due, Due::At(_)) && wait(&due, now) < Some(Duration::from_secs(2)), "{due:?}");
        clock.answered(Timestamp::LogAppendTime(1_000_000 + 30_000));
        assert_eq!(clock.due(old, DELAY, Instant::now()), Due::Now);
    }

    #[test]
    fn a_record_whose_topic_keeps_the_senders_time_is_due_by_that() {
        let (clock, now) = (TierClock::default(), Instant::now());
        let sent = i64::try_from(HostTime::now().0).unwrap();
        assert_eq!(clock.due(Timestamp::CreateTime(sent - 30_000), DELAY, now), Due::Now);
        let due = clock.due(Timestamp::CreateTime(sent - 10_000), DELAY, now);
        assert!(matches!(due, Due::At(at) if at > now + Duration::from_secs(19)), "{due:?}");
    }

    #[test]
    fn the_broker_is_asked_again_after_a_while_and_not_twice_at_a_time() {
        let (clock, now) = (TierClock::default(), Instant::now());
        clock.asked.store(true, Ordering::Release);
        assert!(matches!(clock.due(Timestamp::LogAppendTime(5), DELAY, now), Due::At(_)));
        clock.asked.store(false, Ordering::Release);
        clock.answered(Timestamp::LogAppendTime(5));
        assert!(matches!(clock.due(Timestamp::LogAppendTime(5), DELAY, now), Due::At(_)));
        let later = now + FRESH + DELAY;
        let fresh = Timestamp::LogAppendTime(5_000_000);
        assert!(matches!(clock.due(fresh, DELAY, later), Due::AskFirst(_)));
    }

    #[test]
    fn what_a_sender_writes_on_a_message_does_not_make_it_a_probe() {
        let sent = Message::new("").with_header(PROBE, "x");
        assert!(is_probe(&sent));
        assert!(!is_probe(&sent.with_header(tiers::BACK_TO, "orders")));
        assert!(!is_probe(&Message::new("body").with_header(PROBE, "x")));
    }
}
