//! What spans say: OpenTelemetry's names for messaging where it has one, else names under `reprieve.`.

use opentelemetry::trace::{Span as _, SpanKind, Status};
use opentelemetry::{KeyValue, Value};
use opentelemetry_sdk::trace::Span;

use crate::broker::Origin;
use crate::event::{EventKind, Ruling};
use crate::handler_error::HandlerError;
use crate::message::Message;

/// Text of a message or a handler is cut to this many bytes.
const LONGEST_TEXT: usize = 1024;

/// The operation that a span stands for, by the conventions for messaging.
#[derive(Debug)]
pub(super) struct Operation {
    pub(super) name: &'static str,
    pub(super) kind: SpanKind,
    /// The conventions' type of operation; empty for what is no messaging.
    pub(super) operation_type: &'static str,
}

pub(super) static PROCESS: Operation =
    Operation { name: "process", kind: SpanKind::Consumer, operation_type: "process" };
pub(super) static HANDLE: Operation = Operation { name: "handle", kind: SpanKind::Client, operation_type: "" };
pub(super) static PUBLISH: Operation = Operation { name: "publish", kind: SpanKind::Producer, operation_type: "send" };

pub(super) fn messaging(
    operation: &Operation,
    system: &'static str,
    destination: &str,
    message: &Message,
) -> Vec<KeyValue> {
    let mut attributes = Vec::with_capacity(16);
    attributes.extend([
        KeyValue::new("messaging.system", system),
        KeyValue::new("messaging.operation.name", operation.name),
        KeyValue::new("messaging.operation.type", operation.operation_type),
        KeyValue::new("messaging.destination.name", text(destination)),
        KeyValue::new("messaging.message.body.size", i64::try_from(message.body_size()).unwrap_or(i64::MAX)),
    ]);
    let ids = [
        ("messaging.message.id", &message.id),
        ("messaging.message.conversation_id", &message.properties.correlation_id),
    ];
    attributes.extend(ids.into_iter().filter_map(|(name, id)| Some(KeyValue::new(name, text(id.as_deref()?)))));
    attributes
}

/// How the message came, by the conventions for RabbitMQ.
pub(super) fn routing_key(origin: &Origin) -> Option<KeyValue> {
    let key = origin.routing_key.as_deref().filter(|key| !key.is_empty())?;
    Some(KeyValue::new("messaging.rabbitmq.destination.routing_key", text(key)))
}

pub(super) fn error(span: &mut Span, error: &HandlerError) {
    span.set_attribute(KeyValue::new("error.type", error.kind.clone()));
    span.set_status(Status::error(cut(&error.text).to_owned()));
    if let Some(status) = error.status {
        span.set_attribute(KeyValue::new("reprieve.error.status", i64::from(status)));
    }
}

pub(super) fn failed(span: &mut Span, kind: &'static str, why: &str) {
    span.set_attribute(KeyValue::new("error.type", kind));
    span.set_status(Status::error(cut(why).to_owned()));
}

/// What an event says of the attempt that it belongs to.
pub(super) fn event(span: &mut Span, event: &EventKind) {
    let mut set = |name: &'static str, value: Value| span.set_attribute(KeyValue::new(name, value));
    match event {
        EventKind::Consumed { error: None, .. } => set("reprieve.outcome", "succeeded".into()),
        EventKind::Consumed { error: Some(failure), .. } => error(span, failure),
        EventKind::RetryScheduled { ruling, due, .. } => {
            set("reprieve.due", due.to_string().into());
            ruled(span, "retry", ruling);
        }
        EventKind::Delayed { ruling, tier, due, .. } => {
            set("reprieve.tier", text(tier));
            set("reprieve.due", due.to_string().into());
            ruled(span, "delayed", ruling);
        }
        EventKind::DeadLettered { ruling, topic, .. } => {
            set("reprieve.dead_letter.topic", text(topic));
            ruled(span, "dead-lettered", ruling);
        }
        EventKind::Requeued { ruling, .. } => ruled(span, "requeued", ruling),
        EventKind::Parked { ruling, .. } => ruled(span, "parked", ruling),
        EventKind::Dropped { ruling, .. } => ruled(span, "dropped", ruling),
        EventKind::Released { why, .. } => {
            set("reprieve.outcome", "released".into());
            set("reprieve.reason", (*why).into());
        }
        EventKind::PolicyFailed { fault, .. } => {
            let said = vec![
                KeyValue::new("reprieve.fault.kind", fault.kind.name()),
                KeyValue::new("reprieve.fault.text", text(&fault.text)),
            ];
            span.add_event("policy-failed", said);
        }
        EventKind::PublishFailed { target, error, tries, .. } => {
            let said = vec![
                KeyValue::new("reprieve.target", text(target)),
                KeyValue::new("reprieve.error", text(error)),
                KeyValue::new("reprieve.tries", i64::from(*tries)),
            ];
            span.add_event("publish-failed", said);
        }
        EventKind::Skipped { .. } | EventKind::PolicySwapped { .. } | EventKind::CandidateChanged { .. } => {}
    }
}

fn ruled(span: &mut Span, outcome: &'static str, ruling: &Ruling) {
    span.set_attributes([
        KeyValue::new("reprieve.outcome", outcome),
        KeyValue::new("reprieve.verdict", ruling.verdict.action.name()),
        KeyValue::new("reprieve.reason", text(&ruling.verdict.reason)),
    ]);
    if let Some(maker) = &ruling.maker {
        span.set_attributes([
            KeyValue::new("reprieve.policy", maker.policy.clone()),
            KeyValue::new("reprieve.policy.revision", maker.revision.clone()),
        ]);
    }
    if let Some(why) = &ruling.overridden {
        span.add_event("override", vec![KeyValue::new("reprieve.override", text(why))]);
    }
}

fn text(text: &str) -> Value {
    cut(text).to_owned().into()
}

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(LONGEST_TEXT)]
}
