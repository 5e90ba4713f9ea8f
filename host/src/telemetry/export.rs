//! Posts spans to a collector, as OTLP asks for it: protobuf by HTTP, in batches.

use std::time::Duration;

use anyhow::Context as _;
use bytes::Bytes;
use opentelemetry_proto::tonic::collector::trace::v1::{ExportTraceServiceRequest, ExportTraceServiceResponse};
use opentelemetry_proto::transform::common::tonic::ResourceAttributesWithSchema;
use opentelemetry_proto::transform::trace::tonic::group_spans_by_resource_and_scope;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SpanData;
use prost::Message as _;
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use reqwest::{Client, StatusCode, Url};
use tokio::sync::mpsc;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::TelemetrySettings;
use crate::http_client;
use crate::observer::SpansLost;

/// Spans in one request.
const BATCH: usize = 512;
/// A batch that is not full waits so long for more.
const LINGER: Duration = Duration::from_millis(500);
/// How long the collector may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// What is waited between the tries of one batch; after them it is lost.
const WAITS: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(3)];
/// More of an answer is not read.
const LONGEST_ANSWER: usize = 64 * 1024;

pub(super) struct Export {
    client: Client,
    url: Url,
    headers: HeaderMap,
    resource: ResourceAttributesWithSchema,
    receiver: mpsc::Receiver<SpanData>,
    lost: SpansLost,
    ending: CancellationToken,
    /// The operator has been told that the collector takes nothing.
    trouble_told: bool,
}

/// Why a batch was not taken.
struct Refusal {
    why: String,
    may_pass: bool,
}

impl Export {
    pub(super) fn new(
        settings: TelemetrySettings,
        resource: &Resource,
        receiver: mpsc::Receiver<SpanData>,
        lost: SpansLost,
        ending: CancellationToken,
    ) -> anyhow::Result<Self> {
        let client = http_client::builder()
            .user_agent(concat!("reprieve/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .timeout(PATIENCE)
            .build()
            .context("cannot set up the HTTP client that traces are exported with")?;
        Ok(Self {
            client,
            url: traces_url(settings.otlp),
            headers: settings.headers,
            resource: resource.into(),
            receiver,
            lost,
            ending,
            trouble_told: false,
        })
    }

    /// Until the end is asked for and what was queued by then is dealt with.
    pub(super) async fn run(mut self) {
        loop {
            let batch = self.next_batch().await;
            if batch.is_empty() {
                return;
            }
            self.export(batch).await;
        }
    }

    /// At least one span; none once the end is asked for and the queue is empty.
    async fn next_batch(&mut self) -> Vec<SpanData> {
        let mut batch = Vec::new();
        let first = tokio::select! {
            biased;
            count = self.receiver.recv_many(&mut batch, BATCH) => count,
            () = self.ending.cancelled() => {
                self.receiver.close();
                self.receiver.recv_many(&mut batch, BATCH).await
            }
        };
        if first == 0 {
            return batch;
        }
        let receiver = &mut self.receiver;
        let fill = async {
            while batch.len() < BATCH {
                let room = BATCH - batch.len();
                if receiver.recv_many(&mut batch, room).await == 0 {
                    return;
                }
            }
        };
        tokio::select! {
            () = fill => {}
            () = sleep(LINGER) => {}
            () = self.ending.cancelled() => {}
        }
        batch
    }

    /// Tries a few times; meanwhile others queue up, and what does not fit is lost.
    async fn export(&mut self, spans: Vec<SpanData>) {
        let count = spans.len() as u64;
        let request =
            ExportTraceServiceRequest { resource_spans: group_spans_by_resource_and_scope(spans, &self.resource) };
        let body = Bytes::from(request.encode_to_vec());
        let mut waits = WAITS.iter();
        loop {
            let Refusal { why, may_pass } = match self.post(body.clone()).await {
                Ok(answer) => return self.taken(count, &answer),
                Err(refusal) => refusal,
            };
            self.tell(&why);
            match waits.next().filter(|_| may_pass && !self.ending.is_cancelled()) {
                Some(wait) => tokio::select! {
                    () = sleep(*wait) => {}
                    () = self.ending.cancelled() => {}
                },
                None => return self.lost.count("export", count),
            }
        }
    }

    fn taken(&mut self, count: u64, answer: &ExportTraceServiceResponse) {
        let partial = answer.partial_success.as_ref().filter(|partial| partial.rejected_spans > 0);
        if let Some(partial) = partial {
            self.lost.count("rejected", partial.rejected_spans.unsigned_abs().min(count));
            self.tell(&format!("it rejects spans: {}", partial.error_message));
        } else if self.trouble_told {
            info!("traces reach the collector at {} again", self.shown());
            self.trouble_told = false;
        }
    }

    /// Once, and not for each batch; again only after it was well in between.
    fn tell(&mut self, why: &str) {
        if !self.trouble_told {
            self.trouble_told = true;
            warn!(
                "the collector at {} takes no traces: {why}. Spans are lost; messages are not held back",
                self.shown()
            );
        }
    }

    async fn post(&self, body: Bytes) -> Result<ExportTraceServiceResponse, Refusal> {
        let unreachable = |error: reqwest::Error| {
            // The layers above it repeat the URL with whatever is secret in it.
            let error = anyhow::Error::new(error.without_url());
            Refusal { why: format!("{}; is it running?", error.root_cause()), may_pass: true }
        };
        let request = self.client.post(self.url.clone()).headers(self.headers.clone());
        let request = request.header(CONTENT_TYPE, "application/x-protobuf").body(body);
        let mut response = request.send().await.map_err(unreachable)?;
        let status = response.status();
        let mut answer = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
            if answer.len() + chunk.len() > LONGEST_ANSWER {
                break;
            }
            answer.extend_from_slice(&chunk);
        }
        if status.is_success() {
            // An answer that is not OTLP's says nothing of spans that were rejected.
            return Ok(ExportTraceServiceResponse::decode(&*answer).unwrap_or_default());
        }
        let may_pass = matches!(
            status,
            StatusCode::TOO_MANY_REQUESTS
                | StatusCode::BAD_GATEWAY
                | StatusCode::SERVICE_UNAVAILABLE
                | StatusCode::GATEWAY_TIMEOUT
        );
        let cure = if may_pass { "" } else { "; correct `otlp` or `headers` of [telemetry]" };
        Err(Refusal { why: format!("it answers {status}{cure}"), may_pass })
    }

    /// The address without what may be secret.
    fn shown(&self) -> String {
        crate::config::SecretUrl::new(self.url.clone()).to_string()
    }
}

fn traces_url(mut otlp: Url) -> Url {
    let path = otlp.path().trim_end_matches('/');
    if !path.ends_with("/v1/traces") {
        let path = format!("{path}/v1/traces");
        otlp.set_path(&path);
    }
    otlp
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_traces_is_appended_where_it_is_missing() {
        let url = |text: &str| traces_url(text.parse().unwrap()).to_string();
        assert_eq!(url("http://127.0.0.1:4318"), "http://127.0.0.1:4318/v1/traces");
        assert_eq!(url("http://127.0.0.1:4318/"), "http://127.0.0.1:4318/v1/traces");
        assert_eq!(url("http://h/otlp/"), "http://h/otlp/v1/traces");
        assert_eq!(url("http://h/v1/traces"), "http://h/v1/traces");
    }
}
