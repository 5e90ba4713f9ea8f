//! Traces of what became of each message, exported by OTLP over HTTP.
//!
//! * `delivery_spans`: the spans of one delivery, begun and ended as its life goes on.
//! * `attributes`: what a span says.
//! * `queue`: spans that have ended, on their way out; bounded, and never waited for.
//! * `export`: posts them to a collector, in batches.
//!
//! Tracing holds no message back: a span that finds the queue full is counted and dropped, and so is a batch that the
//! collector does not take.

mod attributes;
mod delivery_spans;
mod export;
mod queue;

use std::time::Duration;

use anyhow::Context as _;
use opentelemetry::InstrumentationScope;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{Sampler, SdkTracer, SdkTracerProvider};
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::warn;

pub(crate) use delivery_spans::{DeliverySpans, Place};
use export::Export;
use queue::Queue;

use crate::config::TelemetryConfig;
use crate::observer::Observer;

/// Spans that have ended and are not exported yet. One is a kilobyte or two.
const QUEUE: usize = 8192;

/// Where spans go, and how many.
#[derive(Debug, Clone)]
pub struct TelemetrySettings {
    /// The collector's address; `/v1/traces` is appended where the path does not end so.
    pub otlp: Url,
    /// For every request, such as `authorization`.
    pub headers: HeaderMap,
    /// The share of new traces that is recorded, from 0 to 1. A message that comes with a trace keeps its sender's choice.
    pub sample: f64,
    /// What the program is called in the traces.
    pub service_name: String,
}

impl TryFrom<&TelemetryConfig> for TelemetrySettings {
    type Error = anyhow::Error;

    fn try_from(config: &TelemetryConfig) -> anyhow::Result<Self> {
        let mut headers = HeaderMap::new();
        for (name, value) in &config.headers {
            let name: HeaderName = name.parse().with_context(|| format!("{name:?} is no HTTP header name"))?;
            let mut value = HeaderValue::from_str(value.expose())
                .with_context(|| format!("the value of the header {name} of [telemetry] is not fit for HTTP"))?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        let otlp = config.otlp.expose().clone();
        Ok(Self { otlp, headers, sample: config.sample, service_name: config.service_name.clone() })
    }
}

/// Makes spans. Clones share everything.
#[derive(Debug, Clone)]
pub struct Traces {
    tracer: SdkTracer,
}

/// The export of spans, which runs until it is ended.
#[derive(Debug)]
pub struct Telemetry {
    ending: CancellationToken,
    export: JoinHandle<()>,
    /// Dropped last: it ends the queue.
    _provider: SdkTracerProvider,
}

impl Telemetry {
    /// Starts to trace what this observer's routes do. Connects to nothing yet: a collector that is down is no error.
    ///
    /// # Errors
    /// The HTTP client cannot be set up, or the observer's routes are traced already.
    pub fn start(settings: TelemetrySettings, observer: &Observer) -> anyhow::Result<Self> {
        let (sender, receiver) = mpsc::channel(QUEUE);
        let lost = observer.metrics().spans_lost();
        let resource = resource(&settings.service_name);
        let provider = SdkTracerProvider::builder()
            .with_sampler(Sampler::ParentBased(Box::new(Sampler::TraceIdRatioBased(settings.sample))))
            .with_resource(resource.clone())
            .with_span_processor(Queue::new(sender, lost.clone()))
            .build();
        let scope = InstrumentationScope::builder("reprieve").with_version(env!("CARGO_PKG_VERSION")).build();
        let traces = Traces { tracer: provider.tracer_with_scope(scope) };
        observer.trace_with(traces).ok().context("spans are exported already")?;
        let ending = CancellationToken::new();
        let export = Export::new(settings, &resource, receiver, lost, ending.clone())?;
        Ok(Self { ending, export: tokio::spawn(export.run()), _provider: provider })
    }

    /// Exports what is queued, for as long as this takes at most; the rest is lost. Spans that end later are lost too.
    pub async fn end(mut self, within: Duration) {
        self.ending.cancel();
        match timeout(within, &mut self.export).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => warn!(%error, "the export of traces ended badly"),
            Err(_) => {
                self.export.abort();
                warn!("the collector did not take the last spans in time; they are lost");
            }
        }
    }
}

/// What the environment says (`OTEL_RESOURCE_ATTRIBUTES`), and the service's name from the configuration.
fn resource(service_name: &str) -> Resource {
    Resource::builder().with_service_name(service_name.to_owned()).build()
}
