//! Dead letters: reading them without taking them away, and putting them back on their origin.
//!
//! * [`letter`]: what a message in a dead-letter queue says of its failure.
//! * [`peek`](mod@peek): shows letters. [`redrive`](mod@redrive): puts them back.
//! * `taking`: takes letters one after the other, and hands back what is left, without losing one to the broker's limit
//!   on hand-backs.
//! * `redriven`: the message that goes back.

pub mod letter;
pub mod peek;
pub mod redrive;
mod redriven;
mod taking;
#[cfg(test)]
mod tests;

use crate::broker::BrokerError;

/// Why dead letters cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DeadLettersError {
    /// The broker cannot be asked, the queue is missing, or the connection ended. Letters in hand are the broker's again.
    #[error(transparent)]
    Broker(#[from] BrokerError),
    /// The broker throws a message away that was handed back so rarely that it cannot be looked at safely.
    #[error(
        "queue '{queue}' has x-delivery-limit {limit}, of its own or of a policy: the broker takes a message out that was \
         handed back more often, so looking at dead letters could lose them; give it no limit, or one of at least {least}"
    )]
    LimitTooLow {
        /// The queue.
        queue: String,
        /// Its limit.
        limit: u64,
        /// The lowest limit that would do.
        least: u64,
    },
}
