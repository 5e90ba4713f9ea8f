//! A stand-in for a Narad cluster, which fails when it is told to.
//!
//! It answers as Narad's own documentation says that Narad does. It is no Narad: what was only seen here is not proved.
//!
//! * `cluster`: what tests see. `topic`: logs and leases. `api`: what each request does. `http`: how it comes in.
//! * `faults`: what goes wrong, and when.

mod api;
mod cluster;
mod faults;
mod http;
mod topic;

pub use cluster::{Cluster, Release, Seen};
pub use faults::{Fault, On};
