//! Verdicts and outcomes in words.

use std::time::Duration;

use humantime::format_duration;

use super::usage::bytes;
use crate::delivery::Outcome;
use crate::policy::engine::Needs;
use crate::timestamp::Timestamp;
use crate::verdict::Action;

/// What a policy asks for.
pub(in crate::cli) fn action(action: &Action) -> String {
    match action {
        Action::Retry { delay_ms: 0 } => "retry at once".to_owned(),
        Action::Retry { delay_ms } => format!("retry after {}", duration(*delay_ms)),
        Action::Delay { delay_ms } => format!("delay by {}", duration(*delay_ms)),
        Action::DelayTo { tier } => format!("delay through tier {tier}"),
        Action::DeadLetter { label: None } => "dead-letter".to_owned(),
        Action::DeadLetter { label: Some(label) } => format!("dead-letter, label {label}"),
        Action::Requeue { cooldown_ms: None } => "requeue".to_owned(),
        Action::Requeue { cooldown_ms: Some(ms) } => format!("requeue after {}", duration(*ms)),
        Action::Drop => "drop".to_owned(),
    }
}

/// What a host does with the message.
pub(super) fn outcome(outcome: &Outcome, now: Timestamp) -> String {
    match outcome {
        Outcome::Again { wait } => {
            format!("runs again in this process after {}, holding its slot", format_duration(*wait))
        }
        Outcome::Delay { tier, due } => {
            format!("goes through tier {}, and is back after {}", tier.name, format_duration(due.since(now)))
        }
        Outcome::DeadLetter { topic } => format!("goes to the dead-letter topic {topic}"),
        Outcome::Requeue { cooldown } => format!("goes back to the broker after {}", format_duration(*cooldown)),
        Outcome::Drop => "is acknowledged and gone".to_owned(),
    }
}

/// What a policy wants to see of a message.
pub(super) fn needs(needs: &Needs) -> String {
    let headers = match &needs.headers {
        None => "all headers".to_owned(),
        Some(names) if names.is_empty() => "no headers".to_owned(),
        Some(names) => format!("the headers {}", names.join(", ")),
    };
    let body = match needs.body {
        None | Some(0) => "nothing of the body".to_owned(),
        Some(most) => format!("up to {} of the body", bytes(most as u64)),
    };
    if needs.attributes.is_empty() {
        return format!("{headers} and {body}");
    }
    format!("{headers}, the attributes {}, and {body}", needs.attributes.join(", "))
}

fn duration(ms: u64) -> String {
    format_duration(Duration::from_millis(ms)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_policy_is_given_is_told_with_its_attributes() {
        let given = |headers: Option<&[&str]>, body, attributes: &[&str]| {
            let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
            needs(&Needs { headers: headers.map(owned), body, attributes: owned(attributes) })
        };
        assert_eq!(given(Some(&[]), Some(0), &[]), "no headers and nothing of the body");
        assert_eq!(given(Some(&["tenant"]), None, &[]), "the headers tenant and nothing of the body");
        assert_eq!(
            given(None, Some(1024), &["partition", "offset"]),
            "all headers, the attributes partition, offset, and up to 1.0 KiB of the body"
        );
    }
}
