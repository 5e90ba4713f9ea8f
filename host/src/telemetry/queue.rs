//! Takes spans that have ended off the message path.

use std::time::Duration;

use opentelemetry::Context;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{Span, SpanData, SpanProcessor};
use tokio::sync::mpsc;

use crate::observer::SpansLost;

#[derive(Debug)]
pub(super) struct Queue {
    sender: mpsc::Sender<SpanData>,
    lost: SpansLost,
}

impl Queue {
    pub(super) const fn new(sender: mpsc::Sender<SpanData>, lost: SpansLost) -> Self {
        Self { sender, lost }
    }
}

impl SpanProcessor for Queue {
    fn on_start(&self, _: &mut Span, _: &Context) {}

    fn on_end(&self, span: SpanData) {
        if self.sender.try_send(span).is_err() {
            self.lost.count("queue-full", 1);
        }
    }

    /// The export decides when spans go out.
    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }
}
