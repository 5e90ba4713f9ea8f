//! Puts dead letters back on their origin.
//!
//! Each letter is published, confirmed, and only then acknowledged. Wherever this stops, each letter is in the dead-letter
//! queue or on its origin; the one under way may be in both.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::DeadLettersError;
use super::letter::{Story, redrives};
use super::peek::is_of_kind;
use super::redriven::redriven;
use super::taking::{MOST_HELD, Taken, Taking, wait_until_back};
use crate::broker::{Broker, Browsing, Delivery, Plan, PublishError, SettleError, Settlement, Target};
use crate::delivery::Doubling;
use crate::topic::Topic;

/// A timer cannot be set for ever.
const A_DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// What to put back, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redrive {
    /// The dead-letter queue.
    pub queue: String,
    /// What our headers may begin with, the likeliest first, which is also what letters of nobody get. At least one.
    pub prefixes: Vec<String>,
    /// Only letters whose error is of this kind.
    pub error_kind: Option<String>,
    /// The most to put back.
    pub max: Option<u64>,
    /// The time from one letter to the next.
    pub interval: Duration,
    /// Letters that were redriven so often stay.
    pub max_redrives: u32,
    /// A queue to put them on instead of their origin.
    pub to: Option<String>,
    /// Only say what would be done.
    pub dry_run: bool,
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Done {
    /// Letters in the queue at the start.
    pub depth: u64,
    /// Letters that were put back, by the queue that they went to.
    pub redriven: BTreeMap<String, u64>,
    /// Letters of another error kind, which stay.
    pub filtered: u64,
    /// Letters that were asked for and stay, with why.
    pub skipped: Vec<Skipped>,
    /// Letters that stay and were put at the end of the queue, because one more hand-back might lose them.
    pub renewed: u64,
    /// Why the queue's limit on hand-backs is not known, so that each one that stays was; `None` where it is known.
    pub limit_unknown: Option<String>,
    /// Letters that are on their origin and perhaps in the queue too: the acknowledgement could not be sent.
    pub unacknowledged: u64,
}

impl Redrive {
    /// Letters in hand at a time at first. What is taken and not put back is handed back, which the broker counts: so no more
    /// than are asked for, where each that comes is likely to be one of them.
    fn first_window(&self) -> usize {
        match (self.max, &self.error_kind) {
            (Some(max), None) => usize::try_from(max).unwrap_or(MOST_HELD).min(MOST_HELD),
            _ => MOST_HELD,
        }
    }
}

impl Done {
    /// How many were put back.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.redriven.values().sum()
    }
}

/// A letter that stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Its id.
    pub id: Option<String>,
    /// Why.
    pub why: Skip,
}

/// Why a letter stays.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum Skip {
    /// It would go round for ever.
    #[error("redriven {} before", if *.0 == 1 { "once".to_owned() } else { format!("{} times", .0) })]
    RedrivenTooOften(u32),
    /// No host wrote on it where it came from.
    #[error("no dead letter of a host, so its origin is unknown")]
    NotOurs,
    /// The broker would not take this message.
    #[error("{0}")]
    Refused(String),
}

/// Why it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// Every letter that was there at the start was looked at.
    All,
    /// As many were put back as were asked for.
    Max,
    /// It was told to stop.
    Interrupted,
    /// As many letters that stay are in hand as may be, or they were held as long as the broker allows.
    Full,
    /// The rest is in other hands.
    Elsewhere,
    /// Nothing more can be published or taken, for this reason.
    Stopped(String),
}

enum Step {
    Leave,
    Skip(Skip),
    Put { target: String, prefix: String, redrives: u32 },
}

/// Puts letters back until all that were there at the start were looked at, or `stop` is cancelled: then the one under way
/// is finished. `progress` is called after each letter.
///
/// # Errors
/// The queue cannot be read. Whatever happens once letters are under way is in [`Ended`].
pub async fn redrive(
    broker: &dyn Broker,
    wanted: &Redrive,
    stop: &CancellationToken,
    mut progress: impl FnMut(&Done),
) -> Result<(Done, Ended), DeadLettersError> {
    let mut run = Run { broker, wanted, done: Done::default(), next: Instant::now(), checked: HashSet::new() };
    let purpose = if wanted.dry_run { Browsing::Look } else { Browsing::Take };
    let begin = |most, window| Taking::begin(broker, &wanted.queue, &wanted.prefixes, most, window, purpose);
    let mut window = wanted.first_window();
    let Some((mut taking, depth)) = begin(u64::MAX, window).await? else {
        return Ok((run.done, Ended::All));
    };
    run.done.depth = depth;
    run.done.limit_unknown = taking.limit_unknown().map(str::to_owned);
    loop {
        let ended = run.take(&mut taking, stop, &mut progress).await;
        let mut left = taking.left();
        run.done.renewed += taking.end().await;
        match ended {
            Some(Ended::Full) if window < MOST_HELD => {
                // What stays has filled a window that was meant for what was asked for.
                window = MOST_HELD;
                left = run.look_again();
            }
            Some(ended) => return Ok((run.done, ended)),
            None => {}
        }
        wait_until_back(broker, &wanted.queue, left).await?;
        match begin(left, window).await? {
            Some((again, _)) => taking = again,
            None => return Ok((run.done, Ended::Elsewhere)),
        }
    }
}

/// Tries again where the broker says that it may take the ack later (rule 15), for some ten seconds.
async fn acknowledge(letter: &Delivery) -> Result<(), SettleError> {
    const AGAIN: Doubling = Doubling { initial: Duration::from_millis(200), max: Duration::from_secs(5) };
    const TRIES: u32 = 6;
    for tries in 0..TRIES {
        match letter.settler.settle(Settlement::Ack).await {
            Err(SettleError::Retry(_)) => sleep(AGAIN.after(tries)).await,
            other => return other,
        }
    }
    letter.settler.settle(Settlement::Ack).await
}

struct Run<'b> {
    broker: &'b dyn Broker,
    wanted: &'b Redrive,
    done: Done,
    /// When the next letter may go.
    next: Instant,
    /// Queues that were found to be there and to keep what they take.
    checked: HashSet<String>,
}

impl Run<'_> {
    /// Takes letters until there is a reason to end. `None`: what was prefetched has been in hand for as long as the broker
    /// allows, and it can go on with letters that are handed over anew.
    async fn take(
        &mut self,
        taking: &mut Taking<'_>,
        stop: &CancellationToken,
        progress: &mut impl FnMut(&Done),
    ) -> Option<Ended> {
        let longest_hold = taking.longest_hold();
        let time_is_up = sleep(longest_hold.unwrap_or(A_DAY).min(A_DAY));
        tokio::pin!(time_is_up);
        loop {
            if self.wanted.max.is_some_and(|max| self.done.total() >= max) {
                return Some(Ended::Max);
            }
            let next = self.next;
            let taken = async {
                if taking.left() > 0 {
                    sleep_until(next).await;
                }
                taking.next().await
            };
            let taken = tokio::select! {
                biased;
                () = stop.cancelled() => return Some(Ended::Interrupted),
                () = &mut time_is_up, if longest_hold.is_some() => return taking.holds_some().then_some(Ended::Full),
                taken = taken => taken,
            };
            match taken {
                Ok(Taken::Letter(delivery)) => {
                    if let Some(ended) = self.letter(*delivery, taking).await {
                        return Some(ended);
                    }
                }
                Ok(Taken::All) => return Some(Ended::All),
                Ok(Taken::Full) => return Some(Ended::Full),
                Ok(Taken::Elsewhere) => return Some(Ended::Elsewhere),
                Err(error) => return Some(Ended::Stopped(error.to_string())),
            }
            progress(&self.done);
        }
    }

    /// Forgets what was seen of letters that stay, which are looked at anew. Gives how many there are to look at.
    fn look_again(&mut self) -> u64 {
        self.done.skipped.clear();
        self.done.filtered = 0;
        if self.wanted.dry_run {
            self.done.redriven.clear();
        }
        self.done.depth.saturating_sub(self.done.total())
    }

    /// Does with one letter what is to be done. Gives why this must be the last, if it must.
    async fn letter(&mut self, delivery: Delivery, taking: &mut Taking<'_>) -> Option<Ended> {
        let (target, prefix, redrives) = match self.judge(&delivery) {
            Step::Leave => {
                self.done.filtered += 1;
                taking.hold(delivery);
                return None;
            }
            Step::Skip(why) => {
                self.skip(delivery, taking, why);
                return None;
            }
            Step::Put { target, prefix, redrives } => (target, prefix, redrives),
        };
        if let Err(why) = self.check(&target, &delivery).await {
            taking.hold(delivery);
            return Some(Ended::Stopped(why));
        }
        if self.wanted.dry_run {
            *self.done.redriven.entry(target).or_default() += 1;
            taking.hold(delivery);
            return None;
        }
        self.next = Instant::now() + self.wanted.interval;
        let message = redriven(&delivery.message, &prefix, redrives);
        match self.broker.publish(&Target::Topic(target.as_str().into()), &message).await {
            Ok(()) => {}
            Err(PublishError::Outage(why)) => {
                taking.hold(delivery);
                return Some(Ended::Stopped(why));
            }
            Err(refused @ (PublishError::Refused(_) | PublishError::TooLarge(_))) => {
                self.skip(delivery, taking, Skip::Refused(refused.to_string()));
                return None;
            }
        }
        *self.done.redriven.entry(target).or_default() += 1;
        // Rule 1: only now, when the origin has it.
        if acknowledge(&delivery).await.is_err() {
            self.done.unacknowledged += 1;
        }
        None
    }

    fn judge(&self, delivery: &Delivery) -> Step {
        let message = &delivery.message;
        let story = Story::read(message, &self.wanted.prefixes);
        if !is_of_kind(story.as_ref(), self.wanted.error_kind.as_deref()) {
            return Step::Leave;
        }
        let prefix = match (&story, self.wanted.prefixes.first()) {
            (Some(story), _) => story.prefix.clone(),
            (None, Some(likeliest)) => likeliest.clone(),
            (None, None) => return Step::Skip(Skip::NotOurs),
        };
        let before = redrives(message, &prefix);
        if before >= self.wanted.max_redrives {
            return Step::Skip(Skip::RedrivenTooOften(before));
        }
        match self.wanted.to.clone().or(story.map(|story| story.origin)) {
            Some(target) => Step::Put { target, prefix, redrives: before.saturating_add(1) },
            None => Step::Skip(Skip::NotOurs),
        }
    }

    fn skip(&mut self, delivery: Delivery, taking: &mut Taking<'_>, why: Skip) {
        self.done.skipped.push(Skipped { id: delivery.message.id.clone(), why });
        taking.hold(delivery);
    }

    /// Rule 2: what is confirmed and then thrown away is lost, so the queue is looked at before the first letter goes there.
    async fn check(&mut self, target: &str, delivery: &Delivery) -> Result<(), String> {
        if self.checked.contains(target) {
            return Ok(());
        }
        let topic = Topic::from(target);
        self.broker.depth(&topic).await.map_err(|error| {
            let id = delivery.message.id.as_deref().unwrap_or("without an id");
            format!("dead letter {id} belongs on '{target}': {error}; declare that queue, or name another with --to")
        })?;
        let plan = Plan { origins: vec![topic], ..Plan::new("redrive", &self.wanted.queue) };
        self.broker.prepare(&plan).await.map_err(|error| error.to_string())?;
        self.checked.insert(target.to_owned());
        Ok(())
    }
}
