//! The verdict that the error's kind names.

use crate::reprieve::policy::types::{Action, Failure, Verdict};

pub fn of(failure: &Failure, reason: String) -> Verdict {
    let action = match failure.error.kind.as_str() {
        "retry" => Action::Retry(1_500),
        "delay" => Action::Delay(u64::MAX),
        "delay-to" => Action::DelayTo("5m".to_owned()),
        "dead-letter" => Action::DeadLetter(None),
        "dead-letter-to" => Action::DeadLetter(Some("invalid".to_owned())),
        "requeue" => Action::Requeue(None),
        "requeue-after" => Action::Requeue(Some(2_500)),
        _ => Action::Drop,
    };
    let pause_intake = (failure.error.kind == "requeue").then_some(30_000);
    let headers = vec![("owner".to_owned(), "sales".to_owned()), ("attempt".to_owned(), failure.attempt.to_string())];
    Verdict { action, pause_intake, reason, headers }
}
