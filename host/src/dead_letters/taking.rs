//! Takes the letters of a queue one after the other and hands back what is left.
//!
//! Where the broker lets them be browsed, what is not acknowledged simply stays. Elsewhere they are consumed, and each
//! hand-back, however it is done, counts on a quorum queue, and past the queue's limit the broker throws the message
//! away. So a letter that was handed back often is put at the end of its queue as a new message instead, and acknowledged
//! once that is confirmed. Where the limit is not known, it may be zero, and that is done with every letter.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use super::DeadLettersError;
use super::redriven::renewed;
use crate::broker::{
    Broker, BrokerError, Browser, Browsing, Consumer, Delivery, HandBackLimit, Plan, Settlement, Target,
};
use crate::topic::Topic;

/// Where a quorum queue says how often it was given a message back.
const DELIVERY_COUNT: &str = "x-delivery-count";
/// The most letters that may ever be in hand at a time.
pub(super) const MOST_HELD: usize = 1000;
/// Below this, one hand-back and one crash could lose a letter.
const LEAST_LIMIT: u64 = 3;
/// A letter that is there comes within this; what does not is in other hands.
const LONGEST_WAIT: Duration = Duration::from_secs(3);
/// What was prefetched is here within this.
const PREFETCHED: Duration = Duration::from_millis(200);

/// What taking a letter led to.
pub(super) enum Taken {
    Letter(Box<Delivery>),
    /// As many were taken as were there at the start.
    All,
    /// No more can be held.
    Full,
    /// The rest is in the hands of another consumer, or gone.
    Elsewhere,
}

/// How a queue is read.
enum Reading {
    Browsing(Box<dyn Browser>),
    Consuming(Box<dyn Consumer>),
}

/// A queue that is being read.
pub(super) struct Taking<'b> {
    broker: &'b dyn Broker,
    queue: &'b str,
    prefixes: &'b [String],
    reading: Reading,
    /// Letters that were there at the start and have not been taken. What comes back while this runs is not taken again.
    left: u64,
    held: Vec<Delivery>,
    most_held: usize,
    /// From so many hand-backs on, a letter is renewed; `None`: never.
    renew_from: Option<u64>,
    /// Why the queue's limit is not known.
    limit_unknown: Option<String>,
}

impl<'b> Taking<'b> {
    /// Begins to read up to `most` letters, with `window` in hand at a time at most. `None` where there is none. Gives the
    /// number that is there with it. Headers of ours begin with one of the `prefixes`. Only for [`Browsing::Take`] are letters
    /// acknowledged.
    pub(super) async fn begin(
        broker: &'b dyn Broker,
        queue: &'b str,
        prefixes: &'b [String],
        most: u64,
        window: usize,
        purpose: Browsing,
    ) -> Result<Option<(Self, u64)>, DeadLettersError> {
        if let Some(browser) = broker.browse(queue, purpose).await? {
            return Ok(Self::browsing(broker, queue, prefixes, most, browser).await);
        }
        let there = broker.depth(&Topic::from(queue)).await?.unwrap_or(0);
        let left = there.min(most);
        if left == 0 {
            return Ok(None);
        }
        let (limit, renew_from, limit_unknown) = match broker.hand_back_limit(queue).await? {
            HandBackLimit::None => (None, None, None),
            HandBackLimit::Times(times) => (Some(times), Some(times / 2), None),
            HandBackLimit::Unknown { at_most, why } => (at_most, Some(0), Some(why)),
        };
        if let Some(limit) = limit.filter(|limit| *limit < LEAST_LIMIT) {
            return Err(DeadLettersError::LimitTooLow { queue: queue.to_owned(), limit, least: LEAST_LIMIT });
        }
        let most_held = usize::try_from(left).unwrap_or(MOST_HELD).min(window);
        let prefetch = u16::try_from(most_held).unwrap_or(u16::MAX);
        let consumer = broker.consume(&Plan::new("redrive", queue), prefetch).await?;
        let (reading, held) = (Reading::Consuming(consumer), Vec::new());
        let taking = Self { broker, queue, prefixes, reading, left, held, most_held, renew_from, limit_unknown };
        Ok(Some((taking, there)))
    }

    async fn browsing(
        broker: &'b dyn Broker,
        queue: &'b str,
        prefixes: &'b [String],
        most: u64,
        mut browser: Box<dyn Browser>,
    ) -> Option<(Self, u64)> {
        let there = browser.there();
        let left = there.min(most);
        if left == 0 {
            browser.close().await;
            return None;
        }
        let taking = Self {
            broker,
            queue,
            prefixes,
            reading: Reading::Browsing(browser),
            left,
            held: Vec::new(),
            most_held: MOST_HELD,
            renew_from: None,
            limit_unknown: None,
        };
        Some((taking, there))
    }

    /// The next letter. Dropping the future loses none.
    pub(super) async fn next(&mut self) -> Result<Taken, BrokerError> {
        if self.left == 0 {
            return Ok(Taken::All);
        }
        if self.held.len() >= self.most_held {
            return Ok(Taken::Full);
        }
        let delivery = match &mut self.reading {
            Reading::Browsing(browser) => match browser.next().await? {
                Some(delivery) => delivery,
                None => return Ok(Taken::All),
            },
            Reading::Consuming(consumer) => match timeout(LONGEST_WAIT, consumer.next()).await {
                Ok(delivery) => delivery?,
                Err(_) => return Ok(Taken::Elsewhere),
            },
        };
        self.left -= 1;
        Ok(Taken::Letter(Box::new(delivery)))
    }

    /// How many of those that were there at the start have not been taken.
    pub(super) const fn left(&self) -> u64 {
        self.left
    }

    /// Why the queue's limit on hand-backs is not known, so that every letter is renewed; `None` where it is.
    pub(super) fn limit_unknown(&self) -> Option<&str> {
        self.limit_unknown.as_deref()
    }

    /// Whether letters that stay are in hand.
    pub(super) const fn holds_some(&self) -> bool {
        !self.held.is_empty()
    }

    /// The longest that letters may be in hand; `None` where they are in nobody's.
    pub(super) fn longest_hold(&self) -> Option<Duration> {
        matches!(self.reading, Reading::Consuming(_)).then(|| self.broker.capabilities().max_hold)
    }

    /// Keeps a letter in hand until the end: handed back now, it would come again at once.
    pub(super) fn hold(&mut self, delivery: Delivery) {
        if matches!(self.reading, Reading::Consuming(_)) {
            self.held.push(delivery);
        }
    }

    /// Hands back what is in hand. Gives the number of letters that were renewed instead.
    pub(super) async fn end(mut self) -> u64 {
        let consumer = match &mut self.reading {
            Reading::Browsing(browser) => {
                browser.close().await;
                return 0;
            }
            Reading::Consuming(consumer) => consumer,
        };
        // What was prefetched and not looked at has to be treated with the same care.
        while let Ok(Ok(delivery)) = timeout(PREFETCHED, consumer.next()).await {
            self.held.push(delivery);
        }
        let renew_from = self.renew_from;
        if !self.held.iter().any(|delivery| is_worn(delivery, renew_from)) {
            // All at once with the consumer: handed back one by one while it takes, letters lose their order on a quorum queue.
            return 0;
        }
        // Each acknowledgement makes room for another letter, and what was renewed would come at once and be handed back.
        consumer.stop().await;
        let mut renewed = 0;
        for delivery in &self.held {
            let settlement = if is_worn(delivery, renew_from) && self.renew(delivery).await {
                renewed += 1;
                Settlement::Ack
            } else {
                Settlement::Release
            };
            // Where it is gone, it is the broker's again; one that was renewed is there twice, which is better than not at all.
            if let Err(error) = delivery.settler.settle(settlement).await {
                tracing::warn!(%error, queue = self.queue, ?settlement, "a dead letter could not be settled, so it goes back with its channel");
            }
        }
        renewed
    }

    /// Publishes the same message to the end of the queue; whether the broker has confirmed it.
    async fn renew(&self, delivery: &Delivery) -> bool {
        let message = renewed(&delivery.message, self.prefixes);
        match self.broker.publish(&Target::Topic(self.queue.into()), &message).await {
            Ok(()) => true,
            Err(error) => {
                tracing::warn!(%error, queue = self.queue, "a dead letter could not be renewed, so it is handed back, which a limit of the queue counts");
                false
            }
        }
    }
}

/// Whether the queue's limit on hand-backs comes near.
fn is_worn(delivery: &Delivery, renew_from: Option<u64>) -> bool {
    let counted = delivery.message.headers.get(DELIVERY_COUNT).and_then(|count| count.as_i64());
    // The broker says nothing before the first hand-back.
    let handed_back = counted.and_then(|count| u64::try_from(count).ok()).unwrap_or(0);
    renew_from.is_some_and(|renew_from| handed_back >= renew_from)
}

/// Waits for a moment until what was handed back is ready again: the broker learns of it on its own time.
pub(super) async fn wait_until_back(broker: &dyn Broker, queue: &str, count: u64) -> Result<(), BrokerError> {
    let deadline = Instant::now() + LONGEST_WAIT;
    while Instant::now() < deadline && broker.depth(&Topic::from(queue)).await?.unwrap_or(0) < count {
        sleep(PREFETCHED).await;
    }
    Ok(())
}
