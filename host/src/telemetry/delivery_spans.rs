//! The spans of one delivery: one for each attempt, and under it one for the handler's run and one for each publish.

use std::sync::Arc;

use opentelemetry::trace::{
    Span as _, SpanBuilder, SpanContext, SpanId, TraceContextExt as _, TraceFlags, TraceId, TraceState, Tracer as _,
};
use opentelemetry::{Context, KeyValue};
use opentelemetry_sdk::trace::Span;

use super::Traces;
use super::attributes::{self, HANDLE, Operation, PROCESS, PUBLISH};
use crate::broker::{Origin, Target};
use crate::delivery::{Effect, Ending, Input, Publication};
use crate::event::EventKind;
use crate::failure::Failure;
use crate::message::Message;
use crate::trace_context::{TRACEPARENT, TraceContext};

/// What is known of the route that a delivery is of.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) route: Arc<str>,
    pub(crate) source: Arc<str>,
    /// The broker's kind.
    pub(crate) system: &'static str,
}

/// Follows a delivery through its life. Dropped, it ends what is still open.
pub(crate) struct DeliverySpans {
    traces: Traces,
    place: Place,
    message: Arc<Message>,
    routing_key: Option<KeyValue>,
    /// What attempts are children of: the sender's span, else the first attempt on this delivery.
    parent: Option<SpanContext>,
    /// Within `attempt`: dropped, and so ended, before it.
    child: Option<Span>,
    attempt: Option<Span>,
}

impl DeliverySpans {
    pub(crate) fn new(traces: Traces, place: Place, message: Arc<Message>, origin: &Origin) -> Self {
        let routing_key = attributes::routing_key(origin);
        let parent = TraceContext::of(&message).map(|context| remote(&context));
        Self { traces, place, message, routing_key, parent, child: None, attempt: None }
    }

    /// Something is to be done. For a run of the handler, gives the `traceparent` that it is to be told, where the trace
    /// is recorded.
    pub(crate) fn sees(&mut self, effect: &mut Effect) -> Option<Arc<str>> {
        match effect {
            Effect::Run { attempt } => return self.runs(*attempt),
            Effect::Judge(failure) => self.judges(failure),
            Effect::Publish(publication) => self.publishes(publication),
            Effect::Stop => self.stops(),
            Effect::Report(event) => self.reports(event),
            Effect::End(ending) => self.ends(*ending),
            _ => {}
        }
        None
    }

    fn runs(&mut self, attempt: u32) -> Option<Arc<str>> {
        self.begin_attempt(Some(attempt));
        let route = Arc::clone(&self.place.route);
        self.begin_child(&HANDLE, &route, None);
        self.child.as_ref().map(|span| traceparent(span.span_context()).into())
    }

    /// The policy is asked. Where no handler ran, the attempt begins here, and no event has told its error.
    fn judges(&mut self, failure: &Failure) {
        if self.attempt.is_none() {
            self.begin_attempt(Some(failure.attempt));
            if let Some(span) = &mut self.attempt {
                attributes::error(span, &failure.error);
            }
        }
    }

    /// A copy goes out. It names the trace that the host began, so that whoever takes it goes on with it; a sender's own
    /// header stays as it is, whatever it says (rule 10).
    fn publishes(&mut self, publication: &mut Publication) {
        if self.attempt.is_none() {
            // What is only sent on to its next tier, or parked unjudged, is no attempt.
            self.begin_attempt(None);
        }
        let senders = self.message.headers.get(TRACEPARENT).is_some();
        let copy = &mut publication.message;
        // A copy without any header is one that the broker took no other way. The policy may have added one of its own.
        if let Some(trace) = self.parent.as_ref().filter(|_| !senders && !copy.headers.is_empty())
            && copy.headers.get(TRACEPARENT).is_none()
        {
            copy.headers.push(TRACEPARENT, traceparent(trace));
        }
        let target = match &publication.target {
            Target::Topic(topic) => topic.to_string(),
            Target::Tier { tier, .. } => format!("tier {}", tier.name),
        };
        self.begin_child(&PUBLISH, &target, Some(&publication.message));
    }

    /// What was under way has ended.
    pub(crate) fn hears(&mut self, input: &Input) {
        let child = match input {
            Input::Handled(..) | Input::Published(_) => self.child.take(),
            _ => None,
        };
        let Some(mut span) = child else { return };
        match input {
            Input::Handled(Err(error), _) => attributes::error(&mut span, error),
            Input::Published(Err(error)) => attributes::failed(&mut span, error.kind(), &error.to_string()),
            _ => {}
        }
    }

    /// What was under way is given up; nobody hears of its end.
    fn stops(&mut self) {
        if let Some(mut span) = self.child.take() {
            span.set_attribute(KeyValue::new("reprieve.cancelled", true));
        }
    }

    /// An event tells what became of the attempt.
    fn reports(&mut self, event: &EventKind) {
        let Some(span) = &mut self.attempt else { return };
        if span.is_recording() {
            attributes::event(span, event);
        }
        // What follows a retry is another attempt.
        if matches!(event, EventKind::RetryScheduled { .. }) {
            self.attempt = None;
        }
    }

    /// What no event tells.
    fn ends(&mut self, ending: Ending) {
        if let (Some(span), Ending::Lost { durable }) = (&mut self.attempt, ending) {
            span.add_event("delivery-lost", vec![KeyValue::new("reprieve.durable", durable)]);
        }
        self.child = None;
        self.attempt = None;
    }

    fn begin_attempt(&mut self, attempt: Option<u32>) {
        let mut span = self.begin(&PROCESS, &self.place.source, self.parent.as_ref());
        if span.is_recording() {
            span.set_attributes(attributes::messaging(&PROCESS, self.place.system, &self.place.source, &self.message));
            span.set_attributes(self.routing_key.clone());
            span.set_attribute(KeyValue::new("reprieve.route", Arc::clone(&self.place.route)));
            span.set_attributes(attempt.map(|attempt| KeyValue::new("reprieve.attempt", i64::from(attempt))));
        }
        self.parent.get_or_insert_with(|| span.span_context().clone());
        self.attempt = Some(span);
    }

    /// Nothing where the trace is not recorded.
    fn begin_child(&mut self, operation: &Operation, target: &str, message: Option<&Message>) {
        let Some(attempt) = self.attempt.as_ref().filter(|attempt| attempt.is_recording()) else { return };
        let mut span = self.begin(operation, target, Some(attempt.span_context()));
        if let Some(message) = message {
            span.set_attributes(attributes::messaging(operation, self.place.system, target, message));
        }
        self.child = Some(span);
    }

    fn begin(&self, operation: &Operation, target: &str, parent: Option<&SpanContext>) -> Span {
        let context = match parent {
            Some(parent) => Context::new().with_remote_span_context(parent.clone()),
            None => Context::new(),
        };
        let builder = SpanBuilder::from_name(format!("{} {target}", operation.name)).with_kind(operation.kind.clone());
        self.traces.tracer.build_with_context(builder, &context)
    }
}

fn remote(context: &TraceContext<'_>) -> SpanContext {
    let (trace, span) =
        (TraceId::from_bytes(context.trace_id.to_be_bytes()), SpanId::from_bytes(context.span_id.to_be_bytes()));
    // What is malformed counts as absent, as W3C says; the trace is joined all the same.
    let state: TraceState = context.tracestate.and_then(|state| state.parse().ok()).unwrap_or_default();
    SpanContext::new(trace, span, TraceFlags::default().with_sampled(context.sampled), true, state)
}

fn traceparent(context: &SpanContext) -> String {
    format!("00-{}-{}-{:02x}", context.trace_id(), context.span_id(), context.trace_flags() & TraceFlags::SAMPLED)
}
