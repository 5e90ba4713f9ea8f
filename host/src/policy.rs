//! Policies: loading, deciding, swapping.
//!
//! # Layout
//!
//! * [`engine`]: turns the bytes of a policy and a route's settings into a [`engine::Revision`] that decides.
//! * [`decision_threads`]: the threads that decisions run on.
//! * [`route_record`]: what a policy is told of its route when it is configured.
//! * [`inspection`]: what can be known of a file without running it.
//! * [`candidate`]: a policy that may take the live one's place, as a shadow or for a share of the messages.
//! * [`cases`]: failures with the verdicts that a policy's author expects.
//! * [`rejection`]: why a candidate did not become a revision.
//! * [`settings_schema`]: settings against the schema that a policy gives of them.
//! * [`purity`]: does a policy keep something between decisions?
//! * [`trust`]: which files may be loaded at all: those on a list, and those that are signed.
//! * [`registry`]: which revision judges on each route, and how it is swapped while messages flow.
//! * [`status`]: the same, to show.
//! * [`usage`]: what a decision used of what the host allows.
//! * `trial`: would a route's policy load? Without a host around it.
//! * [`embedded`]: the policies that are part of the program.
//! * `folder`, `watcher`, `last_good`, `history`: files in the policies folder, changes there, and what is kept for a restart.
//! * `text`, `sha256`: texts from outside, bounded; and digests, as texts.

mod bindings;
pub mod candidate;
pub mod cases;
pub mod decision_threads;
pub mod embedded;
pub mod engine;
mod folder;
mod history;
pub mod inspection;
mod last_good;
mod lift;
mod lower;
pub mod purity;
pub mod registry;
pub mod rejection;
pub mod route_record;
pub mod settings_schema;
mod sha256;
pub mod status;
mod text;
pub(crate) mod trial;
pub mod trust;
pub mod usage;
pub(crate) mod watcher;

pub(crate) use lower::shown_error;
