//! What a policy says.

use std::time::Duration;

use crate::{Route, log};

/// A policy's answer to a failure.
///
/// ```
/// use std::time::Duration;
/// use reprieve_sdk::Verdict;
///
/// let verdict = Verdict::dead_letter_to("invalid").because("it will never validate").with_header("owner", "sales");
/// assert_eq!(verdict.reason, "it will never validate");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a verdict does nothing until `decide` returns it"]
pub struct Verdict {
    /// What is to be done.
    pub action: Action,
    /// Take no new messages on the route for so long.
    pub pause_intake: Option<Duration>,
    /// Why, for a person.
    pub reason: String,
    /// Headers for the copy, where one is published. The host refuses its own names and the broker's.
    pub headers: Vec<(String, String)>,
}

/// The six things that a policy can ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Again in this process, after a wait that holds the slot.
    Retry(Duration),
    /// Again later through a durable tier, not before this delay has passed.
    Delay(Duration),
    /// Again later through the tier of this name.
    DelayTo(String),
    /// Parked in the topic that this label means, or in the default one.
    DeadLetter(Option<String>),
    /// Handed back to the broker, after at least this cool-down.
    Requeue(Option<Duration>),
    /// Acknowledged and forgotten.
    Drop,
}

impl Action {
    /// How long a message is away from its handler by this action, so that a policy can see whether it would be back too
    /// late. That is longer than the wait that is asked for where the host rounds it up to a tier, as it does with a
    /// retry longer than the route's `max_retry_delay` too. `None` where the message does not come back by itself, or
    /// the route has no tier for it.
    ///
    /// A broker that lets no delivery be held for long can turn a retry into a delay, which no policy can foresee.
    ///
    /// ```
    /// use std::time::Duration;
    /// use reprieve_sdk::{Action, Route};
    ///
    /// let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
    /// let route = Route::new("orders").with_tier("30m", minutes(30)); // retries of up to a minute
    /// assert_eq!(Action::Retry(minutes(1)).time_away(&route), Some(minutes(1)));
    /// assert_eq!(Action::Retry(minutes(2)).time_away(&route), Some(minutes(30)));
    /// assert_eq!(Action::Drop.time_away(&route), None);
    /// ```
    #[must_use]
    pub fn time_away(&self, route: &Route) -> Option<Duration> {
        let longest = route.limits.max_retry_delay;
        match self {
            // Where no retry is granted at all, one without a wait goes through a tier too.
            Self::Retry(wait) if *wait <= longest && !longest.is_zero() => Some(*wait),
            // Without tiers, a short delay is a retry.
            Self::Retry(wait) | Self::Delay(wait) => {
                route.time_away(*wait).or_else(|| (*wait <= longest).then_some(*wait))
            }
            Self::DelayTo(name) => route.tiers.iter().find(|tier| tier.name == *name).map(|tier| tier.delay),
            Self::DeadLetter(_) | Self::Requeue(_) | Self::Drop => None,
        }
    }
}

impl Verdict {
    /// This action, with no reason given.
    pub const fn new(action: Action) -> Self {
        Self { action, pause_intake: None, reason: String::new(), headers: Vec::new() }
    }

    /// Again in this process, after a wait that holds the message's slot. A wait longer than the
    /// route's `max_retry_delay` goes through a tier instead.
    pub const fn retry(wait: Duration) -> Self {
        Self::new(Action::Retry(wait))
    }

    /// Again later, through the durable tier that the host finds for this delay.
    pub const fn delay(delay: Duration) -> Self {
        Self::new(Action::Delay(delay))
    }

    /// Again later, through the tier of this name.
    pub fn delay_to(tier: impl Into<String>) -> Self {
        Self::new(Action::DelayTo(tier.into()))
    }

    /// Parked in the route's default dead-letter topic.
    pub const fn dead_letter() -> Self {
        Self::new(Action::DeadLetter(None))
    }

    /// Parked in the dead-letter topic that the route's configuration gives for this label.
    pub fn dead_letter_to(label: impl Into<String>) -> Self {
        Self::new(Action::DeadLetter(Some(label.into())))
    }

    /// The end of a message for which no setting names another: parked in the default dead-letter topic for this
    /// reason; dropped with a warning where the route has none, so that a poison message never blocks a source in
    /// silence.
    pub fn give_up(route: &Route, reason: impl Into<String>) -> Self {
        let reason = reason.into();
        if route.has_dead_letter("default") {
            return Self::dead_letter().because(reason);
        }
        log::warn!("a message is dropped, because its route has no default dead-letter topic: {reason}");
        Self::drop().because(format!("{reason}; the route has no default dead-letter topic"))
    }

    /// Handed back to the broker for its own redelivery, after the host's cool-down.
    pub const fn requeue() -> Self {
        Self::new(Action::Requeue(None))
    }

    /// Handed back to the broker for its own redelivery, after at least this cool-down.
    pub const fn requeue_after(cooldown: Duration) -> Self {
        Self::new(Action::Requeue(Some(cooldown)))
    }

    /// Acknowledged and forgotten: the message is gone.
    pub const fn drop() -> Self {
        Self::new(Action::Drop)
    }

    /// The same verdict for this reason, which is shown to people in logs and dead letters.
    pub fn because(mut self, reason: impl Into<String>) -> Self {
        self.reason = reason.into();
        self
    }

    /// The same verdict, and the route takes no new messages for so long.
    pub const fn pause_intake(mut self, pause: Duration) -> Self {
        self.pause_intake = Some(pause);
        self
    }

    /// The same verdict with one more header for the copy that is published.
    pub fn with_header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;

    const SECOND: Duration = Duration::from_secs(1);

    /// Retries of up to a minute; the tiers 30s and 5m.
    fn route() -> Route {
        Route::new("orders").with_tier("30s", 30 * SECOND).with_tier("5m", 300 * SECOND)
    }

    #[test]
    fn the_time_away_is_that_of_the_way_that_the_host_takes() {
        for (action, seconds) in [
            (Action::Retry(Duration::ZERO), Some(0)),
            (Action::Retry(60 * SECOND), Some(60)),
            (Action::Retry(61 * SECOND), Some(300)),
            (Action::Delay(SECOND), Some(30)),
            (Action::Delay(301 * SECOND), Some(330)),
            (Action::DelayTo("5m".to_owned()), Some(300)),
            (Action::DelayTo("1h".to_owned()), None),
            (Action::DeadLetter(None), None),
            (Action::Requeue(Some(SECOND)), None),
        ] {
            assert_eq!(action.time_away(&route()), seconds.map(Duration::from_secs), "{action:?}");
        }
    }

    #[test]
    fn without_tiers_a_short_delay_is_a_retry_and_a_long_one_has_no_way_back() {
        let route = Route::new("orders");
        assert_eq!(Action::Delay(60 * SECOND).time_away(&route), Some(60 * SECOND));
        assert_eq!(Action::Delay(61 * SECOND).time_away(&route), None);
        assert_eq!(Action::Retry(61 * SECOND).time_away(&route), None);
    }

    #[test]
    fn where_no_retry_is_granted_every_one_goes_through_a_tier() {
        let route = route().with_limits(Limits { max_retry_delay: Duration::ZERO, max_body: 0 });
        assert_eq!(Action::Retry(Duration::ZERO).time_away(&route), Some(30 * SECOND));
    }
}
