//! What a host would do with what a policy said, without doing it. For tools.

use std::time::Duration;

use super::machine::LONGEST_PAUSE;
use super::resolve::{Outcome, Situation, resolve};
use super::{Rules, fallback};
use crate::failure::Failure;
use crate::verdict::{Fault, Verdict};

/// The outcome of a decision.
#[derive(Debug, Clone, PartialEq)]
pub struct Preview {
    /// The verdict that counts: the policy's, or where it failed, the fallback's.
    pub verdict: Verdict,
    /// What the host would do.
    pub outcome: Outcome,
    /// Why that is not what the verdict says, where it is not.
    pub overridden: Option<String>,
    /// For how long the route would take no new messages.
    pub pause_intake: Option<Duration>,
}

/// What a host would do on a route with these rules.
#[must_use]
pub fn preview(failure: &Failure, said: &Result<Verdict, Fault>, situation: Situation, rules: &Rules) -> Preview {
    let verdict = said.clone().unwrap_or_else(|_| fallback::judge(failure, rules));
    let (outcome, overridden) = resolve(&verdict.action, situation, rules);
    let pause_intake = verdict.pause_intake.map(|ms| Duration::from_millis(ms).min(LONGEST_PAUSE));
    Preview { verdict, outcome, overridden, pause_intake }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::topic::Topic;
    use crate::verdict::{Action, FaultKind};

    fn failure() -> Failure {
        Failure::from_written(&json!({ "attempt": 1, "error": "timeout", "expires_in": "1m" })).unwrap()
    }

    fn rules() -> Rules {
        let mut rules = Rules::new("orders", "orders");
        rules.dead_letters.insert("default".into(), Topic::from("orders.dlq"));
        rules
    }

    fn after(said: Result<Verdict, Fault>) -> Preview {
        let failure = failure();
        preview(&failure, &said, Situation::just_arrived(&failure), &rules())
    }

    #[test]
    fn a_verdict_that_can_be_carried_out_is() {
        let verdict = Verdict { pause_intake: Some(u64::MAX), ..Verdict::new(Action::Retry { delay_ms: 2000 }, "") };
        let preview = after(Ok(verdict));
        assert_eq!((preview.outcome, preview.overridden), (Outcome::Again { wait: Duration::from_secs(2) }, None));
        assert_eq!(preview.pause_intake, Some(LONGEST_PAUSE));
    }

    #[test]
    fn one_that_cannot_be_is_overridden() {
        let preview = after(Ok(Verdict::new(Action::Retry { delay_ms: 60_000 }, "")));
        assert_eq!(preview.outcome, Outcome::DeadLetter { topic: "orders.dlq".into() }, "it would have expired");
        assert!(preview.overridden.unwrap().contains("expires"));
    }

    #[test]
    fn the_fallback_judges_in_the_place_of_a_policy_that_failed() {
        let preview = after(Err(Fault::new(FaultKind::Trap, "unreachable")));
        assert_eq!(preview.outcome, Outcome::DeadLetter { topic: "orders.dlq".into() });
        assert!(preview.verdict.reason.starts_with("the fallback"), "{}", preview.verdict.reason);
    }
}
