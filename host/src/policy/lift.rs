//! A verdict as it comes from a policy, checked.
//!
//! A reason is for people: it becomes one line and is cut with a mark. All the rest decides where a message goes or
//! what is written on it, so that half of it would be something else than the policy meant: what breaks a rule there
//! is a fault of the class `invalid-verdict`.
//!
//! * A tier's or a label's name has 1 to 255 bytes and no control characters. Whether the route has it is not asked
//!   here.
//! * At most 32 headers, 8 KiB in all. A name has 1 to 128 visible ASCII characters, and is neither one of ours
//!   (`reprieve-…`) nor one that a broker reads or writes (`x-death…`, `x-delivery-count`, `CC`, …), whatever its case.

use super::bindings::reprieve::policy::types as wit;
use super::text::one_line;
use crate::verdict::{Action, Fault, FaultKind, Verdict};

/// The longest reason, in bytes.
pub(super) const MAX_REASON: usize = 4 * 1024;
/// The longest name of a tier or label, in bytes.
const MAX_NAME: usize = 255;
/// How many headers a verdict may have.
pub(super) const MAX_HEADERS: usize = 32;
/// The longest header name, in bytes.
const MAX_HEADER_NAME: usize = 128;
/// All names and values of a verdict's headers together, in bytes.
pub(super) const MAX_HEADER_BYTES: usize = 8 * 1024;

/// Beginnings of names that are the host's or a broker's.
const RESERVED_PREFIXES: [&str; 4] = ["reprieve-", "x-death", "x-first-death", "x-last-death"];
/// Names that are a broker's.
const RESERVED_NAMES: [&str; 4] = ["x-delivery-count", "x-acquired-count", "cc", "bcc"];

/// The verdict as the host knows it.
///
/// # Errors
/// A fault of the class `invalid-verdict` that says which rule is broken.
pub(super) fn lift(verdict: wit::Verdict) -> Result<Verdict, Fault> {
    check_headers(&verdict.headers)?;
    Ok(Verdict {
        action: lift_action(verdict.action)?,
        pause_intake: verdict.pause_intake,
        reason: one_line(&verdict.reason, MAX_REASON),
        headers: verdict.headers,
    })
}

fn lift_action(action: wit::Action) -> Result<Action, Fault> {
    Ok(match action {
        wit::Action::Retry(delay_ms) => Action::Retry { delay_ms },
        wit::Action::Delay(delay_ms) => Action::Delay { delay_ms },
        wit::Action::DelayTo(tier) => Action::DelayTo { tier: checked_name("tier", tier)? },
        wit::Action::DeadLetter(label) => {
            Action::DeadLetter { label: label.map(|label| checked_name("label", label)).transpose()? }
        }
        wit::Action::Requeue(cooldown_ms) => Action::Requeue { cooldown_ms },
        wit::Action::Drop => Action::Drop,
    })
}

fn checked_name(what: &str, name: String) -> Result<String, Fault> {
    if name.is_empty() || name.len() > MAX_NAME || name.contains(char::is_control) {
        return Err(invalid(format!(
            "the {what} {:?} is not a name: it has to have 1 to {MAX_NAME} bytes and no control characters",
            one_line(&name, MAX_NAME)
        )));
    }
    Ok(name)
}

fn check_headers(headers: &[(String, String)]) -> Result<(), Fault> {
    if headers.len() > MAX_HEADERS {
        return Err(invalid(format!("{} headers, of which there may be {MAX_HEADERS}", headers.len())));
    }
    let bytes: usize = headers.iter().map(|(name, value)| name.len() + value.len()).sum();
    if bytes > MAX_HEADER_BYTES {
        return Err(invalid(format!("headers of {bytes} bytes in all, of which there may be {MAX_HEADER_BYTES}")));
    }
    headers.iter().try_for_each(|(name, _)| check_header_name(name))
}

fn check_header_name(name: &str) -> Result<(), Fault> {
    if name.is_empty() || name.len() > MAX_HEADER_NAME || !name.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(invalid(format!(
            "the header name {:?} has to have 1 to {MAX_HEADER_NAME} visible ASCII characters",
            one_line(name, MAX_HEADER_NAME)
        )));
    }
    let lower = name.to_ascii_lowercase();
    if RESERVED_PREFIXES.iter().any(|prefix| lower.starts_with(prefix)) || RESERVED_NAMES.contains(&lower.as_str()) {
        return Err(invalid(format!("the header name `{name}` is the host's or the broker's own")));
    }
    Ok(())
}

fn invalid(text: String) -> Fault {
    Fault::new(FaultKind::InvalidVerdict, text)
}

#[cfg(test)]
mod tests;
