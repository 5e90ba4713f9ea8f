//! A place to play a test in, and who plays: the program, a handler, a client.

mod account;
mod client;
mod handler;
mod hosts;
mod message;
mod program;
mod python;
mod scene;
mod wait;

pub(crate) use account::json_lines;
pub(crate) use client::Client;
pub(crate) use handler::{Event, Handler, answer, answers};
pub(crate) use message::{Message, text};
pub(crate) use program::Program;
pub(crate) use python::python;
pub(crate) use scene::{Scene, committed_policy, test_policy};
pub(crate) use wait::{wait_for, wait_until};
