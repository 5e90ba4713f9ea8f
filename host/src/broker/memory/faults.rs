//! Faults that tests and the demo plan, to see what the host makes of them. No configuration reaches them.

use std::sync::{Mutex, PoisonError};

use crate::broker::{PublishError, Target};
use crate::message::Message;

/// Planned faults. A target is named as it is displayed: a queue's name, or `tier 30s back to orders`.
/// Where several are planned for one target, the one planned first strikes first.
#[derive(Debug, Default)]
pub struct Faults {
    planned: Mutex<Vec<Planned>>,
}

#[derive(Debug)]
struct Planned {
    target: String,
    fault: Fault,
    /// Publishes that it will still strike; `None` for all.
    left: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Fail,
    Refuse,
    RefuseLargerThan(usize),
    LeaveUnconfirmed,
    Lose,
}

/// What becomes of a message that is published.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is kept, and the publisher is told so.
    Kept,
    /// It is kept, and the publisher is told that it may not be.
    KeptUnconfirmed(PublishError),
    /// It is thrown away, and the publisher is told that it is kept.
    Lost,
    /// It is not kept, and the publisher is told so.
    Refused(PublishError),
}

impl Faults {
    /// The next `times` publishes to the target fail as in an outage.
    pub fn fail(&self, target: &str, times: u32) {
        self.plan(target, Fault::Fail, Some(times));
    }

    /// The next `times` messages for the target are refused for what they are.
    pub fn refuse(&self, target: &str, times: u32) {
        self.plan(target, Fault::Refuse, Some(times));
    }

    /// Until [`Faults::clear`], the target refuses messages whose body and headers, the latter as JSON, take more bytes.
    pub fn refuse_larger_than(&self, target: &str, bytes: usize) {
        self.plan(target, Fault::RefuseLargerThan(bytes), None);
    }

    /// The next `times` messages for the target are kept, but the confirmation is lost: whoever publishes again makes a duplicate.
    pub fn leave_unconfirmed(&self, target: &str, times: u32) {
        self.plan(target, Fault::LeaveUnconfirmed, Some(times));
    }

    /// The next `times` messages for the target are confirmed and thrown away, as no broker should.
    pub fn lose(&self, target: &str, times: u32) {
        self.plan(target, Fault::Lose, Some(times));
    }

    /// Nothing is planned any more.
    pub fn clear(&self) {
        self.lock().clear();
    }

    fn plan(&self, target: &str, fault: Fault, left: Option<u32>) {
        if left != Some(0) {
            self.lock().push(Planned { target: target.to_owned(), fault, left });
        }
    }

    /// What becomes of this message, now that it is published.
    pub(super) fn strike(&self, target: &Target, message: &Message) -> Fate {
        let mut planned = self.lock();
        if planned.is_empty() {
            return Fate::Kept;
        }
        let target = target.to_string();
        let Some(index) = planned.iter().position(|plan| plan.target == target && plan.fault.concerns(message)) else {
            return Fate::Kept;
        };
        let fault = planned[index].fault;
        if let Some(left) = &mut planned[index].left {
            *left -= 1;
            if *left == 0 {
                planned.remove(index);
            }
        }
        fault.fate(&target, message)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Planned>> {
        self.planned.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Fault {
    fn concerns(self, message: &Message) -> bool {
        match self {
            Self::RefuseLargerThan(bytes) => size(message) > bytes,
            _ => true,
        }
    }

    fn fate(self, target: &str, message: &Message) -> Fate {
        match self {
            Self::Fail => Fate::Refused(PublishError::Outage(format!("{target} is down: a planned fault"))),
            Self::Refuse => Fate::Refused(PublishError::Refused(format!("{target} does not take it: a planned fault"))),
            Self::RefuseLargerThan(bytes) => Fate::Refused(PublishError::TooLarge(format!(
                "{} bytes, and {target} takes {bytes}: a planned fault",
                size(message)
            ))),
            Self::LeaveUnconfirmed => Fate::KeptUnconfirmed(PublishError::Outage(format!(
                "{target} did not confirm in time: a planned fault"
            ))),
            Self::Lose => Fate::Lost,
        }
    }
}

/// Bytes of the body and of the headers as JSON; no headers take none.
fn size(message: &Message) -> usize {
    let headers = if message.headers.is_empty() {
        0
    } else {
        serde_json::to_vec(&message.headers).expect("headers have a JSON form").len()
    };
    message.body_size() + headers
}
