//! Reprieve decides what happens to a message whose processing failed.
//!
//! # Layout
//!
//! * [`message`], [`handler_error`], [`failure`], [`verdict`], [`topic`], [`timestamp`]: the nouns, without I/O.
//! * [`delivery`]: the life of one delivery as a state machine, without I/O.
//! * [`policy`]: the WebAssembly engine, the live revisions, the watcher.
//! * [`broker`]: one trait, one folder for each broker.
//! * [`handler`]: HTTP, commands, closures, and reading failures that are messages already.
//! * [`route`]: drives deliveries through the machine: slots, timers, drain.
//! * [`journal`]: the record of every failure, verdict and outcome.
//! * [`store`]: what is kept on disk across restarts.
//! * [`event`], [`observer`]: what happened, for whoever watches.
//! * [`telemetry`], [`trace_context`]: the same as traces, and the traces that messages come with.
//! * [`dead_letters`]: reading dead letters without taking them away, and putting them back.
//! * [`config`], [`admin`], [`host`]: the program's parts; [`cli`] its commands.

pub mod admin;
pub mod broker;
pub mod cli;
pub mod config;
pub mod dead_letters;
pub mod delivery;
pub mod event;
pub mod failure;
pub mod handler;
pub mod handler_error;
pub mod host;
mod http_client;
pub mod journal;
pub mod message;
pub mod observer;
pub mod policy;
pub mod route;
mod sqlite;
pub mod store;
pub mod telemetry;
pub mod timestamp;
mod toml_json;
pub mod topic;
pub mod trace_context;
pub mod verdict;
