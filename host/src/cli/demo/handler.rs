//! The handler that fails as the script says, and its own ledger of what it processed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::script::{Kind, PREVIEWS, Trouble};
use crate::handler::closure::handler_fn;
use crate::handler::{Call, Handler};
use crate::handler_error::HandlerError;

/// After this time from its first attempt, a message that hung goes through; at the third attempt in any case.
const RECOVERS_AFTER: Duration = Duration::from_secs(1);
/// What the orders' rate limit asks for.
const ORDERS_RETRY_AFTER: u64 = 400;
/// What the previews' rate limit asks for: more than that route may hold a slot for.
const PREVIEWS_RETRY_AFTER: u64 = 1000;
/// What a handler does where nothing is wrong.
const WORK: Duration = Duration::from_millis(5);
/// The text of the scripted panic, by which the panic hook knows it.
const CRASH: &str = "the price list has no row for this order";

/// What the handler remembers of each message by its id.
#[derive(Debug, Clone, Default)]
pub(super) struct Ledger(Arc<Mutex<HashMap<String, Entry>>>);

#[derive(Debug)]
struct Entry {
    first_attempt: Instant,
    processed: bool,
}

impl Ledger {
    /// The handler saw this message.
    pub(super) fn has_seen(&self, id: &str) -> bool {
        self.lock().contains_key(id)
    }

    /// The handler processed this message with success.
    pub(super) fn has_processed(&self, id: &str) -> bool {
        self.lock().get(id).is_some_and(|entry| entry.processed)
    }

    /// An attempt begins. Answers with the time since the first.
    fn begin(&self, id: &str) -> Duration {
        let new = || Entry { first_attempt: Instant::now(), processed: false };
        self.lock().entry(id.to_owned()).or_insert_with(new).first_attempt.elapsed()
    }

    fn finish(&self, id: &str) {
        if let Some(entry) = self.lock().get_mut(id) {
            entry.processed = true;
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The handler of both routes.
pub(super) fn handler(ledger: &Ledger) -> Arc<dyn Handler> {
    let ledger = ledger.clone();
    Arc::new(handler_fn(move |call| process(ledger.clone(), call)))
}

async fn process(ledger: Ledger, call: Call) -> Result<(), HandlerError> {
    let id = call.message.id.as_deref().unwrap_or_default();
    let kind = Kind::of_id(id).ok_or_else(|| HandlerError::new("unknown", format!("{id:?} is not in the script")))?;
    let age = ledger.begin(id);
    meet(kind, call.attempt, age).await?;
    sleep(WORK).await;
    ledger.finish(id);
    Ok(())
}

async fn meet(kind: Kind, attempt: u32, age: Duration) -> Result<(), HandlerError> {
    match kind.trouble {
        Trouble::Validation => Err(HandlerError::new("validation", "the customer's address is missing")),
        Trouble::TimeOut if attempt < 3 && age < RECOVERS_AFTER => std::future::pending().await,
        Trouble::RateLimit if attempt < 2 => Err(HandlerError {
            status: Some(429),
            retry_after: Some(if kind.queue == PREVIEWS { PREVIEWS_RETRY_AFTER } else { ORDERS_RETRY_AFTER }),
            ..HandlerError::new("rate-limited", "too many requests")
        }),
        Trouble::Flaky if attempt < 3 => Err(HandlerError::new("connection", "the stock service refused it")),
        Trouble::Crash => panic!("{CRASH}"),
        Trouble::None | Trouble::TimeOut | Trouble::RateLimit | Trouble::Flaky => Ok(()),
    }
}

/// Keeps the scripted panics off the terminal, where they would tear the table. Any other is shown as ever.
pub(super) fn hide_scripted_panics() {
    let shown = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if info.payload_as_str() != Some(CRASH) {
            shown(info);
        }
    }));
}
