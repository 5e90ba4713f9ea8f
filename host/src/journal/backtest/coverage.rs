//! Can a recorded failure be judged exactly, with what was kept of it?

use crate::failure::Failure;
use crate::journal::Kept;
use crate::policy::engine::Needs;

/// What a policy reads and the record lacks, for a person; `None` where it has everything.
#[must_use]
pub fn gap(needs: &Needs, failure: &Failure, kept: &Kept) -> Option<String> {
    if kept.is_everything() {
        return None;
    }
    let reads = |name: &str| needs.headers.as_ref().is_none_or(|names| names.iter().any(|wanted| wanted == name));
    if let Some((name, _)) = kept.withheld_headers.iter().find(|(name, _)| reads(name)) {
        return Some(format!("header {name} was not kept"));
    }
    if needs.body.is_some_and(|bytes| !kept.has_body(failure, bytes as u64)) {
        return Some("the body was not kept, or not enough of it".to_owned());
    }
    let masked = kept.masked.iter().find(|place| place.strip_prefix("headers.").is_none_or(reads));
    masked.map(|place| format!("{place} was masked"))
}
