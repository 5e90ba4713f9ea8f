//! What is done with each message.

/// What is done with each message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Path {
    /// Handled, acknowledged.
    Happy,
    /// Published to the dead-letter topic, confirmed, acknowledged.
    DeadLetter,
    /// Published to a tier, confirmed, acknowledged; and once more acknowledged when it is back.
    Tier,
}
