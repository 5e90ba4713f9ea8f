//! A route's outer loop: wait for a policy, prepare, consume, and stop in order.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, timeout};
use tracing::{info, warn};

use super::acknowledged::Acknowledged;
use super::memory::Memory;
use super::ordering::{self, OrderedConsumer};
use super::{Phase, Route};
use crate::broker::{BrokerError, Consumer, HoldLimits, Prepared};
use crate::delivery::{Doubling, Rules};
use crate::message::Message;

/// Between tries to reach the broker.
const RECONNECT: Doubling = Doubling { initial: Duration::from_millis(500), max: Duration::from_secs(10) };
/// An outage is short for so long: a restart of the broker, a cut connection. Then whoever waits is back soon after it.
const SHORT_OUTAGE: Duration = Duration::from_secs(60);
/// The longest wait while an outage is short.
const LONGEST_AT_FIRST: Duration = Duration::from_secs(2);

/// After the abort, deliveries only settle; that takes no longer.
const LAST_SETTLES: Duration = Duration::from_secs(2);

/// A broker that does not take a cancel within this time is not waited for: unsettled deliveries go back anyway.
const LONGEST_STOP: Duration = Duration::from_secs(8);

/// The time of one consumer: what its deliveries go by.
pub(super) struct Epoch {
    pub(super) rules: Arc<Rules>,
    /// `None` where the broker answers each ack, so that none is in doubt.
    acknowledged: Option<Acknowledged>,
}

impl Epoch {
    /// An ack was asked for, for this message.
    pub(super) fn note_ack(&self, message: &Arc<Message>, memory: &Memory) {
        if let Some(acknowledged) = &self.acknowledged {
            acknowledged.note(message, memory);
        }
    }

    /// The consumer was lost.
    fn end(&self, memory: &Memory) {
        if let Some(acknowledged) = &self.acknowledged {
            acknowledged.lose(memory);
        }
    }
}

/// The wait before the next try, after so many in a row that failed, the first of them this long ago.
fn before_next_try(failures: u32, away: Duration) -> Duration {
    let wait = RECONNECT.after(failures);
    if away < SHORT_OUTAGE { wait.min(LONGEST_AT_FIRST) } else { wait }
}

/// Why a consumer that is lost has ended. What it had prefetched is the broker's again.
async fn ended(consumer: &mut dyn Consumer) -> BrokerError {
    loop {
        if let Err(problem) = consumer.next().await {
            return problem;
        }
    }
}

impl Route {
    /// Runs until shutdown, and returns once every delivery has ended or the time for that is over.
    pub async fn run(self: Arc<Self>) {
        let all = u32::from(self.spec.concurrency.max(1));
        let slots = Arc::new(Semaphore::new(all as usize));
        let consumer = tokio::select! {
            consumer = self.consume_until_drain(&slots) => consumer,
            never = self.tell_of_pauses() => match never {},
        };
        self.metrics.intake_paused.set(0);
        self.state.set(Phase::Draining);
        // Kept until the end: deliveries can be settled only as long as their consumer lives.
        let mut consumer = consumer;
        if let Some(consumer) = &mut consumer
            && timeout(LONGEST_STOP, consumer.stop()).await.is_err()
        {
            warn!(route = %self.spec.name, "the broker did not answer the end of the consumer in time");
        }
        self.intake_ended.cancel();
        let ended = slots.acquire_many(all);
        tokio::pin!(ended);
        tokio::select! {
            _ = &mut ended => {}
            () = self.shutdown.abort.cancelled() => {
                if timeout(LAST_SETTLES, ended).await.is_err() {
                    warn!(route = %self.spec.name, "some deliveries did not end in time: the broker will hand them over again");
                }
            }
        }
        if let Some(mut consumer) = consumer
            && timeout(LAST_SETTLES, consumer.close()).await.is_err()
        {
            warn!(route = %self.spec.name, "the broker did not answer the last settles in time: some messages may come again");
        }
        self.state.set(Phase::Stopped);
    }

    /// Consumes, and begins anew after each loss, with back-off. Gives back the consumer that was active at the drain.
    async fn consume_until_drain(self: &Arc<Self>, slots: &Arc<Semaphore>) -> Option<Box<dyn Consumer>> {
        let drain = self.shutdown.drain.clone();
        drain.run_until_cancelled(self.judge.ready()).await?;
        let (mut failures, mut since) = (0, Instant::now());
        self.state.set(Phase::Connecting { error: None });
        loop {
            let problem = match drain.run_until_cancelled(self.connect()).await? {
                Ok((mut consumer, epoch)) => {
                    failures = 0;
                    match drain.run_until_cancelled(self.consume(consumer.as_mut(), &epoch, slots)).await {
                        None => return Some(consumer),
                        Some(problem) => {
                            since = Instant::now();
                            epoch.end(&self.memory);
                            problem
                        }
                    }
                }
                Err(problem) => problem,
            };
            let wait = before_next_try(failures, since.elapsed());
            failures = failures.saturating_add(1);
            let retry_in = humantime::format_duration(wait);
            warn!(route = %self.spec.name, error = %problem, %retry_in, "the route is not consuming");
            self.state.set(Phase::Connecting { error: Some(problem.to_string()) });
            drain.run_until_cancelled(sleep(wait)).await?;
        }
    }

    async fn connect(self: &Arc<Self>) -> Result<(Box<dyn Consumer>, Arc<Epoch>), BrokerError> {
        let spec = &self.spec;
        let plan = spec.plan();
        let mut prepared = spec.broker.prepare(&plan).await?;
        let prefetch = spec.prefetch();
        let is_in_doubt = !spec.broker.capabilities().answers_settles;
        let epoch = Arc::new(Epoch {
            rules: Arc::new(self.rules(&prepared)),
            acknowledged: is_in_doubt.then(|| Acknowledged::new(prefetch)),
        });
        let mut consumer = spec.broker.consume(&plan, prefetch).await?;
        if spec.ordering.is_some() {
            prepared.remarks.extend(ordering::doubt(&spec.source, &prepared));
            consumer = Box::new(OrderedConsumer::new(Arc::clone(self), consumer));
        }
        for remark in &prepared.remarks {
            warn!(route = %spec.name, "{remark}");
        }
        info!(route = %spec.name, source = %spec.source, concurrency = spec.concurrency, "consuming");
        self.state.set(Phase::Consuming { remarks: prepared.remarks });
        Ok((consumer, epoch))
    }

    /// Hands deliveries out until the consumer is lost.
    async fn consume(
        self: &Arc<Self>,
        consumer: &mut dyn Consumer,
        epoch: &Arc<Epoch>,
        slots: &Arc<Semaphore>,
    ) -> BrokerError {
        let lost = consumer.lost();
        loop {
            // The slot comes first: what is not taken stays with the broker. A consumer that is lost has nothing to
            // take, and waits for neither slot nor pause.
            let slot = Arc::clone(slots).acquire_owned();
            let Some(slot) = lost.run_until_cancelled(slot).await else { return ended(consumer).await };
            let slot = slot.expect("the slots are never closed");
            let delivery = loop {
                if lost.run_until_cancelled(self.pauses.over()).await.is_none() {
                    return ended(consumer).await;
                }
                tokio::select! {
                    biased;
                    delivery = consumer.next() => break delivery,
                    // A pause that begins while nothing was there to take holds for what comes next.
                    () = self.pauses.begin() => {}
                }
            };
            match delivery {
                // The broker hands it over again; here it could not be settled.
                Ok(delivery) if delivery.lost.is_cancelled() => {}
                Ok(delivery) => drop(tokio::spawn(Arc::clone(self).drive(delivery, Arc::clone(epoch), slot))),
                Err(problem) => return problem,
            }
        }
    }

    /// Raises the alarm also while every slot is held, when intake itself does not come as far as to notice.
    async fn tell_of_pauses(&self) -> Infallible {
        loop {
            self.pauses.begin().await;
            self.metrics.intake_paused.set(1);
            for pause in self.pauses.current() {
                warn!(route = %self.spec.name, until = %pause.until, why = pause.why, "intake is paused");
            }
            self.pauses.over().await;
            info!(route = %self.spec.name, "intake goes on");
            self.metrics.intake_paused.set(0);
        }
    }

    fn rules(&self, prepared: &Prepared) -> Rules {
        let general = self.spec.rules();
        let hold = prepared
            .hold
            .unwrap_or(HoldLimits { max_retry_delay: general.max_retry_delay, max_hold: general.max_hold });
        Rules {
            names: self.names.clone(),
            requeue_is_safe: prepared.requeue_is_safe,
            max_header_bytes: prepared.max_header_bytes,
            // A source that lets deliveries be held for longer does not lengthen what the route asks for.
            max_retry_delay: hold.max_retry_delay.min(general.max_retry_delay),
            max_hold: hold.max_hold,
            ..general
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(away: Duration) -> Vec<u64> {
        (0..7).map(|failures| before_next_try(failures, away).as_millis().try_into().unwrap()).collect()
    }

    #[test]
    fn a_broker_that_was_away_shortly_is_found_again_within_two_seconds() {
        assert_eq!(waits(Duration::from_secs(59)), [500, 1000, 2000, 2000, 2000, 2000, 2000]);
    }

    #[test]
    fn a_broker_that_stays_away_is_asked_less_and_less_often() {
        assert_eq!(waits(Duration::from_secs(60)), [500, 1000, 2000, 4000, 8000, 10_000, 10_000]);
    }
}
