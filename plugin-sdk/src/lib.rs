//! Write a Reprieve policy in Rust.
//!
//! A policy says what happens to a message whose processing failed. It is a struct, its settings, and
//! a function from a [`Failure`] to a [`Verdict`]:
//!
//! ```
//! use std::time::Duration;
//! use reprieve_sdk::{Failure, Policy, Problem, Route, Verdict};
//!
//! /// Three attempts, five seconds apart.
//! struct ThreeTries;
//!
//! impl Policy for ThreeTries {
//!     type Settings = reprieve_sdk::NoSettings;
//!
//!     fn configure(_: Self::Settings, _: &Route) -> Result<Self, Vec<Problem>> {
//!         Ok(Self)
//!     }
//!
//!     fn decide(&self, failure: &Failure) -> Verdict {
//!         match failure.attempt {
//!             1..3 => Verdict::retry(Duration::from_secs(5)).because("it may pass"),
//!             _ => Verdict::dead_letter().because("three attempts failed"),
//!         }
//!     }
//! }
//!
//! reprieve_sdk::policy!(ThreeTries);
//!
//! # fn main() {
//! assert_eq!(ThreeTries.decide(&Failure::new("timeout").attempt(3)), Verdict::dead_letter().because("three attempts failed"));
//! # }
//! ```
//!
//! Built for `wasm32-unknown-unknown` as a `cdylib`, the crate is a policy that a host loads. Built
//! for any other target it is an ordinary crate, and its tests run without WebAssembly.
//!
//! The [guide](https://github.com/reprieve-rs/reprieve/tree/main/plugin-sdk#readme) goes from nothing to a policy that is
//! swapped while messages flow, and says what a policy may do and what does not work in WebAssembly. The [`cookbook`] has
//! twelve policies to start from.
//!
//! # Layout
//! - [`Policy`] and [`policy!`]: what to implement, and the line that exports it
//! - [`Failure`], [`HandlerError`], [`Health`], [`HeaderValue`], [`attribute`]: what a policy is told
//! - [`Needs`]: how much of it
//! - [`Route`], [`Tier`], [`Limits`]: where it judges
//! - [`Verdict`], [`Action`]: what it answers
//! - [`RetryPolicy`], [`KindPattern`], [`duration`]: building blocks for settings
//! - [`standard`]: the policy that the host has built in, to build on
//! - [`log`]: lines for the host's log

pub mod attribute;
pub mod duration;
mod failure;
mod handler_error;
mod header_value;
mod kind_pattern;
pub mod log;
mod needs;
mod policy;
mod problem;
mod retry;
mod route;
pub mod standard;
mod verdict;
#[cfg(target_arch = "wasm32")]
#[doc(hidden)]
pub mod wasm;

pub use failure::{Failure, Health};
pub use handler_error::HandlerError;
pub use header_value::HeaderValue;
pub use kind_pattern::KindPattern;
pub use needs::{HeaderNeeds, Needs};
pub use policy::{NoSettings, Policy, configure};
pub use problem::Problem;
pub use retry::{Jitter, RetryOverrides, RetryPolicy};
pub use route::{Limits, Route, Tier};
pub use verdict::{Action, Verdict};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(any(doc, doctest))]
#[doc = include_str!("../docs/cookbook.md")]
pub mod cookbook {}
