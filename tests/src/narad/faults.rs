//! What goes wrong, and when.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::Deserialize;

/// A kind of request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum On {
    /// A message is published.
    Produce,
    /// Messages are asked for.
    Consume,
    /// A message is read by its offset.
    Replay,
    /// A lease is acked, alone.
    Ack,
    /// A lease is renewed, alone.
    Extend,
    /// A lease is given back, alone.
    Nack,
    /// Several leases are acked, renewed or given back.
    Batch,
    /// A topic is asked for, or listed.
    Topic,
    /// A topic is made.
    Create,
    /// The metrics are read.
    Metrics,
}

/// What goes wrong.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// It is not carried out; the answer is this status and text.
    Status(u16, String),
    /// It is not carried out, and the connection ends.
    Drop,
    /// It is carried out, and the connection ends without an answer.
    LoseReply,
    /// It is carried out, and the answer takes this long.
    Slow(Duration),
    /// In a batch, which is carried out, the results say this status instead.
    Results(u16),
}

impl Fault {
    /// A status with an error as Narad writes it.
    #[must_use]
    pub fn status(status: u16) -> Self {
        Self::Status(status, format!("{{\"error\":\"planned {status}\"}}"))
    }

    /// A status with plain text, as forwarded requests are answered.
    #[must_use]
    pub fn plain(status: u16) -> Self {
        Self::Status(status, format!("planned {status}\n"))
    }
}

/// The faults that are to come.
#[derive(Default)]
pub(super) struct Faults(Mutex<Vec<(On, u32, Fault)>>);

impl Faults {
    pub(super) fn plan(&self, on: On, times: u32, fault: Fault) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((on, times, fault));
    }

    pub(super) fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// The next fault for a request of this kind, which counts as come.
    pub(super) fn strike(&self, on: On) -> Option<Fault> {
        let mut planned = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, times, fault) = planned.iter_mut().find(|(kind, times, _)| *kind == on && *times > 0)?;
        *times -= 1;
        Some(fault.clone())
    }
}
