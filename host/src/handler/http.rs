//! A handler behind HTTP/1.1: each message is posted to one URL, and any 2xx answer is success.
//!
//! # The request
//!
//! The message's body as it is, with `content-type` (the message's, else `application/octet-stream`) and
//!
//! | header | value |
//! | --- | --- |
//! | `reprieve-id` | the message's id, where it has one |
//! | `reprieve-attempt` | the attempt, from 1 |
//! | `reprieve-redelivered` | `true` or `false` |
//! | `reprieve-route` | the route's name |
//! | `reprieve-key` | the message's key, where it has one |
//! | `reprieve-content-encoding` | the message's content encoding, where it has one |
//! | `traceparent`, `tracestate` | the trace that the handler's own spans belong to, where there is one |
//! | `reprieve-header-NAME` | each text or whole-number header of the message |
//!
//! What HTTP does not allow in a header (a line break, a space in a name) is left out rather than altered. So are
//! values of the other headers past 512 bytes, and message headers past 64 or past 5 KiB in all: servers refuse a request
//! whose headers are too many or too large.
//!
//! # An error
//!
//! An answer other than 2xx is an error; redirects are not followed. Its kind is the value of the response header
//! `reprieve-error-kind` (the name can be set), else the last part of a problem document's `type` (`out-of-stock` of
//! `https://example.com/problems/out-of-stock`), else `http-STATUS`. Its text is the problem's title and detail,
//! else the body's first line. `Retry-After` is understood in seconds and as a date. Where there is no answer, the
//! kind is `connect`, `timeout`, or `http-protocol` when the connection broke or carried something that is not HTTP.

mod answer;
mod request;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use async_trait::async_trait;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Url};

use super::{Call, Handler, excerpt};
use crate::handler_error::HandlerError;
use crate::http_client;

/// Servers commonly drop an idle connection after five seconds. A client that keeps it for less does not send a
/// message down a connection that is being closed.
const IDLE: Duration = Duration::from_secs(4);

/// Where messages are posted, and how errors are read. May hold secrets, so it cannot be printed.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpSettings {
    /// An `http://` URL. A user and password in it are sent as basic authentication.
    pub url: String,
    /// Headers for every request, such as `authorization`.
    pub headers: BTreeMap<String, String>,
    /// The response header that names an error's kind.
    pub error_kind_header: String,
}

impl HttpSettings {
    /// Posts to this URL, with no headers of its own, and reads `reprieve-error-kind`.
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), headers: BTreeMap::new(), error_kind_header: "reprieve-error-kind".to_owned() }
    }
}

/// Posts messages to an endpoint. Connections are kept open between messages.
pub struct HttpHandler {
    client: Client,
    url: Url,
    /// The URL without what may be secret.
    shown: String,
    headers: HeaderMap,
    error_kind_header: HeaderName,
}

impl HttpHandler {
    /// Checks the settings; connects to nothing.
    ///
    /// # Errors
    ///
    /// The URL is not one or is not `http`, or a header name or value is not allowed in HTTP.
    pub fn new(settings: HttpSettings) -> anyhow::Result<Self> {
        let HttpSettings { url, headers, error_kind_header } = settings;
        let url = parse_url(&url)?;
        let client = http_client::builder()
            .user_agent(concat!("reprieve/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .pool_idle_timeout(IDLE)
            .build()
            .context("cannot set up the HTTP client")?;
        let error_kind_header = error_kind_header
            .parse()
            .with_context(|| format!("error_kind_header {error_kind_header:?} cannot be the name of an HTTP header"))?;
        Ok(Self { client, shown: shown(&url), url, headers: parse_headers(headers)?, error_kind_header })
    }

    /// The error of a request that got no answer.
    fn unanswered(&self, error: reqwest::Error) -> HandlerError {
        let url = &self.shown;
        let (kind, timed_out, what, cure) = match &error {
            error if error.is_connect() => {
                ("connect", false, format!("cannot connect to {url}"), "is the handler running there?")
            }
            error if error.is_timeout() => ("timeout", true, format!("no answer from {url}"), "is it overloaded?"),
            _ => ("http-protocol", false, format!("no proper HTTP answer from {url}"), "see the handler's own log"),
        };
        // The layers above it say no more than `what`, and repeat the URL with whatever is secret in it.
        let error = anyhow::Error::new(error.without_url());
        let text = excerpt::first_line(&format!("{what}: {}; {cure}", error.root_cause())).unwrap_or_default();
        HandlerError { timed_out, ..HandlerError::new(kind, text) }
    }
}

impl fmt::Debug for HttpHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpHandler").field("url", &self.shown).finish_non_exhaustive()
    }
}

#[async_trait]
impl Handler for HttpHandler {
    async fn handle(&self, call: &Call) -> Result<(), HandlerError> {
        let headers = request::headers(&self.headers, call);
        let body = call.message.body.clone().unwrap_or_default();
        let request = self.client.post(self.url.clone()).headers(headers).body(body);
        let response = request.send().await.map_err(|error| self.unanswered(error))?;
        answer::read(response, &self.error_kind_header).await
    }
}

fn parse_url(raw: &str) -> anyhow::Result<Url> {
    // A password may be in it, so it is not shown before it is understood.
    let url: Url = raw.parse().context("the handler's url is not a URL; write it as http://host:port/path")?;
    match url.scheme() {
        "http" => {}
        "https" => bail!(
            "the handler's url {} needs TLS, which this program is built without; use an http:// URL, \
             through a local TLS proxy where the endpoint is not on this machine",
            shown(&url)
        ),
        other => bail!("the handler's url {} has the scheme {other:?}; it must be http", shown(&url)),
    }
    Ok(url)
}

fn shown(url: &Url) -> String {
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{}{port}{}", url.scheme(), url.host_str().unwrap_or_default(), url.path())
}

fn parse_headers(raw: BTreeMap<String, String>) -> anyhow::Result<HeaderMap> {
    let mut headers = HeaderMap::new();
    for (name, value) in raw {
        let parsed: HeaderName =
            name.parse().with_context(|| format!("the handler's header {name:?} is no HTTP header name"))?;
        ensure!(
            !["content-length", "transfer-encoding", "connection"].contains(&parsed.as_str()),
            "the handler's header {name:?} is set by the HTTP client itself; remove it"
        );
        // The value may be a secret, so it is not shown.
        let value = HeaderValue::try_from(value).with_context(|| {
            format!("the value of the handler's header {name:?} has characters that HTTP does not allow")
        })?;
        headers.insert(parsed, value);
    }
    Ok(headers)
}
