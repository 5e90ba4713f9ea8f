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

#[cfg(test)]
mod tests {
    use opentelemetry::trace::{Tracer as _, TracerProvider as _};
    use opentelemetry_sdk::trace::SdkTracerProvider;

    use super::*;
    use crate::observer::Observer;

    #[test]
    fn a_span_that_finds_the_queue_full_is_counted_and_not_waited_for() {
        let observer = Observer::new();
        let (sender, mut receiver) = mpsc::channel(1);
        let queue = Queue::new(sender, observer.metrics().spans_lost());
        let tracer = SdkTracerProvider::builder().with_span_processor(queue).build().tracer("test");
        for name in ["first", "second", "third"] {
            drop(tracer.start(name));
        }
        assert_eq!(receiver.try_recv().unwrap().name, "first");
        assert!(receiver.try_recv().is_err());
        let metrics = observer.metrics().encode();
        assert!(metrics.contains("reprieve_spans_lost_total{why=\"queue-full\"} 2"), "{metrics}");
    }
}
