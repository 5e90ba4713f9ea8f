//! The built-in policy that judges where a policy could not (rule 6). It is native and cannot fail.

use super::Rules;
use super::rules::DEFAULT_LABEL;
use crate::failure::Failure;
use crate::timestamp::millis;
use crate::verdict::{Action, Verdict};

/// Retries as `[routes.retry]` says, then dead-letters. Where there is nowhere to dead-letter it hands back,
/// or drops if the route allows just that.
pub(super) fn judge(failure: &Failure, rules: &Rules) -> Verdict {
    let expired = failure.expires_in_ms == Some(0);
    if !expired && !rules.retry.exhausted(failure.attempt) {
        let delay = millis(rules.retry.delay(failure.attempt, failure.seed));
        let delay_ms = delay.max(failure.error.retry_after.unwrap_or(0));
        return Verdict::new(Action::Retry { delay_ms }, "the fallback retries as the route's retry settings say");
    }
    let action = if rules.dead_letters.contains_key(DEFAULT_LABEL) {
        Action::DeadLetter { label: None }
    } else if rules.allow_drop_on_fault {
        Action::Drop
    } else {
        Action::Requeue { cooldown_ms: None }
    };
    let why = if expired { "the message expired" } else { "the attempts are used up" };
    Verdict::new(action, format!("the fallback ends it: {why}"))
}
