//! Policies: loading, deciding, swapping.
//!
//! # Layout
//!
//! * [`engine`]: turns the bytes of a policy and a route's settings into a [`engine::Revision`] that decides.
//! * [`decision_threads`]: the threads that decisions run on.
//! * [`route_record`]: what a policy is told of its route when it is configured.
//! * [`rejection`]: why a candidate did not become a revision.

mod bindings;
pub mod decision_threads;
pub mod engine;
mod lift;
mod lower;
pub mod rejection;
pub mod route_record;
mod text;
