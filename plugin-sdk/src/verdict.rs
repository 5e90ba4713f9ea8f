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
