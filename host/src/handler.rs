//! What processes a message.
//!
//! * [`http`]: an endpoint that each message is posted to.
//! * [`command`]: a program that is started for each message.
//! * [`closure`]: Rust code in this process.
//! * [`judge`]: no handler; the message is a failure already, and its headers say what of.
//!
//! A handler answers with nothing or with a [`HandlerError`]. It may be dropped half-way: at its time-out and
//! at the end of a shutdown.

pub mod closure;
pub mod command;
mod excerpt;
pub mod http;
pub mod judge;
pub(crate) mod panic;
mod retry_after;

use std::sync::Arc;

use async_trait::async_trait;

use crate::broker::Origin;
use crate::handler_error::HandlerError;
use crate::message::Message;
use crate::trace_context::TraceContext;

/// Processes messages, many at a time.
#[async_trait]
pub trait Handler: Send + Sync + 'static {
    /// Processes one message, once. The host enforces the time-out from outside.
    async fn handle(&self, call: &Call) -> Result<(), HandlerError>;
}

/// One attempt, as the handler is told of it.
#[derive(Debug, Clone)]
pub struct Call {
    /// The message.
    pub message: Arc<Message>,
    /// How it reached the source.
    pub origin: Origin,
    /// The route's name.
    pub route: Arc<str>,
    /// From 1.
    pub attempt: u32,
    /// The broker says that it handed this message over before.
    pub redelivered: bool,
    /// The `traceparent` of the host's own span for this run, where the host traces and this trace is recorded.
    pub own_traceparent: Option<Arc<str>>,
}

impl Call {
    /// What the handler's own spans are children of, as W3C writes it: the host's span where there is one, else what the
    /// message came with. Without a trace, or with one that makes no sense, nothing.
    #[must_use]
    pub fn traceparent(&self) -> Option<&str> {
        let senders = || TraceContext::of(&self.message).map(|context| context.traceparent);
        self.own_traceparent.as_deref().or_else(senders)
    }

    /// The `tracestate` that goes with it, as the message came with it.
    #[must_use]
    pub fn tracestate(&self) -> Option<&str> {
        TraceContext::of(&self.message)?.tracestate
    }
}
