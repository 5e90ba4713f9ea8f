//! A policy that may take the live one's place: asked beside it (shadow), or in its place for a share of the messages (canary).
//!
//! * `plan`: how it was configured. `share`: which messages are its own. `comparison`: what it said, beside the live policy.
//! * `trial`: one candidate on one route, and when it is good or bad enough. `shadows`: the thread that asks shadows.

mod comparison;
mod plan;
mod shadows;
mod share;
#[cfg(test)]
mod tests;
mod trial;

pub use comparison::{Change, Tally};
pub use plan::{CandidateMode, CandidatePlan};
pub(super) use shadows::Shadows;
pub(super) use trial::{CandidateSlot, Trial, Turn, percent};
