//! Shows the letters of a queue and leaves them there.

use std::sync::Arc;

use super::DeadLettersError;
use super::letter::Story;
use super::taking::{MOST_HELD, Taken, Taking};
use crate::broker::{Broker, Browsing};
use crate::message::Message;

/// What to look for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peek {
    /// The queue.
    pub queue: String,
    /// What our headers may begin with, the likeliest first.
    pub prefixes: Vec<String>,
    /// Only letters whose error is of this kind.
    pub error_kind: Option<String>,
    /// The most to show, at least one.
    pub max: usize,
}

/// A message in a dead-letter queue.
#[derive(Debug, Clone, PartialEq)]
pub struct Letter {
    /// As it stands in the queue.
    pub message: Arc<Message>,
    /// What a host wrote on it; `None` where none did.
    pub story: Option<Story>,
}

/// What was seen.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Seen {
    /// The letters that were asked for, in the queue's order.
    pub letters: Vec<Letter>,
    /// How many messages were ready in the queue at the start.
    pub depth: u64,
    /// How many were looked at. With a filter, at most 1000.
    pub looked_at: u64,
    /// How many were put at the end of the queue as new messages, because one more hand-back might lose them.
    pub renewed: u64,
    /// Why the queue's limit on hand-backs is not known, so that each one was; `None` where it is known.
    pub limit_unknown: Option<String>,
}

/// Reads letters where the broker lets them be browsed. Elsewhere takes them, holds them, and hands them back in their
/// order: the broker marks them as redelivered, and those that a limit of the queue might throw away are put at its end.
///
/// # Errors
/// The broker cannot be asked, the queue is missing, or reading it is not safe. Nothing is lost then.
pub async fn peek(broker: &dyn Broker, wanted: &Peek) -> Result<Seen, DeadLettersError> {
    let most = if wanted.error_kind.is_some() { MOST_HELD } else { wanted.max.min(MOST_HELD) };
    let Some((mut taking, depth)) =
        Taking::begin(broker, &wanted.queue, &wanted.prefixes, most as u64, most, Browsing::Look).await?
    else {
        return Ok(Seen::default());
    };
    let limit_unknown = taking.limit_unknown().map(str::to_owned);
    let mut seen = Seen { depth, limit_unknown, ..Seen::default() };
    while seen.letters.len() < wanted.max {
        let taken = match taking.next().await {
            Ok(Taken::Letter(delivery)) => delivery,
            Ok(Taken::All | Taken::Full | Taken::Elsewhere) => break,
            Err(error) => {
                taking.end().await;
                return Err(error.into());
            }
        };
        seen.looked_at += 1;
        let story = Story::read(&taken.message, &wanted.prefixes);
        if is_of_kind(story.as_ref(), wanted.error_kind.as_deref()) {
            seen.letters.push(Letter { message: Arc::clone(&taken.message), story });
        }
        taking.hold(*taken);
    }
    seen.renewed = taking.end().await;
    Ok(seen)
}

/// Whether a letter passes the filter: without one every letter does, with one only those of a host.
pub(super) fn is_of_kind(story: Option<&Story>, wanted: Option<&str>) -> bool {
    wanted.is_none_or(|wanted| story.is_some_and(|story| story.error_kind == wanted))
}
