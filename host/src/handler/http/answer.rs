//! What an answer means.

use std::time::{Duration, SystemTime};

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, RETRY_AFTER};
use reqwest::{Response, StatusCode};

use crate::handler::{excerpt, retry_after};
use crate::handler_error::HandlerError;

/// No more of a body is read. A longer one costs its connection, never the host's memory.
const MAX_BODY: usize = 64 * 1024;
/// How long the rest of an error's body is waited for: the status is known by then, and must not become a time-out.
const ERROR_BODY: Duration = Duration::from_secs(1);
/// The same after a success, where the body is read only so that the connection can be used again.
const SUCCESS_BODY: Duration = Duration::from_millis(100);

/// Success for any 2xx, else the error that the answer describes.
pub(super) async fn read(mut response: Response, kind_header: &HeaderName) -> Result<(), HandlerError> {
    let status = response.status();
    if status.is_success() {
        body(&mut response, SUCCESS_BODY).await;
        return Ok(());
    }
    let body = body(&mut response, ERROR_BODY).await;
    Err(error(status, response.headers(), &body, kind_header))
}

/// As much of the body as comes within the bounds. One that breaks off is read as far as it got: it only describes.
async fn body(response: &mut Response, within: Duration) -> Vec<u8> {
    let mut body = Vec::new();
    let fill = async {
        while body.len() < MAX_BODY {
            match response.chunk().await {
                Ok(Some(chunk)) => body.extend_from_slice(&chunk[..chunk.len().min(MAX_BODY - body.len())]),
                Ok(None) => break,
                Err(error) => {
                    tracing::debug!("the body of an answer broke off: {}", error.without_url());
                    break;
                }
            }
        }
    };
    if tokio::time::timeout(within, fill).await.is_err() {
        tracing::debug!("the body of an answer did not end within {within:?}");
    }
    body
}

fn error(status: StatusCode, headers: &HeaderMap, body: &[u8], kind_header: &HeaderName) -> HandlerError {
    let header = |name: &HeaderName| headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()));
    let content_type = header(&CONTENT_TYPE).unwrap_or_default().to_ascii_lowercase();
    let problem = Problem::read(&content_type, body);
    let body = String::from_utf8_lossy(body);

    let kind = header(kind_header)
        .and_then(|raw| excerpt::kind(&raw))
        .or(problem.kind)
        .unwrap_or_else(|| format!("http-{}", status.as_u16()));
    // The first line of a page of HTML tells nobody anything.
    let first_line = || (!content_type.starts_with("text/html")).then(|| excerpt::first_line(&body)).flatten();
    let text = problem.text.or_else(first_line).unwrap_or_else(|| match status.canonical_reason() {
        Some(reason) => format!("the handler answered {} {reason}", status.as_u16()),
        None => format!("the handler answered {}", status.as_u16()),
    });
    HandlerError {
        status: Some(status.as_u16()),
        retry_after: header(&RETRY_AFTER).and_then(|raw| retry_after::parse(&raw, SystemTime::now())),
        detail: excerpt::detail(&body),
        ..HandlerError::new(kind, text)
    }
}

/// What a problem document (RFC 9457) says.
#[derive(Default)]
struct Problem {
    kind: Option<String>,
    text: Option<String>,
}

impl Problem {
    fn read(content_type: &str, body: &[u8]) -> Self {
        if content_type.split(';').next().map(str::trim) != Some("application/problem+json") {
            return Self::default();
        }
        // A document that is not JSON still has a first line to show.
        let Ok(document) = serde_json::from_slice::<serde_json::Value>(body) else { return Self::default() };
        let member = |name: &str| document.get(name)?.as_str().filter(|text| !text.trim().is_empty());
        let text = match (member("title"), member("detail")) {
            (Some(title), Some(detail)) => Some(format!("{title}: {detail}")),
            (title, detail) => title.or(detail).map(str::to_owned),
        };
        Self {
            kind: member("type").filter(|uri| *uri != "about:blank").and_then(last_part),
            text: text.and_then(|text| excerpt::first_line(&text)),
        }
    }
}

/// The last part of a URI: behind its last `/`, `#` or `:`.
fn last_part(uri: &str) -> Option<String> {
    uri.trim().trim_end_matches(['/', '#']).rsplit(['/', '#', ':']).next().and_then(excerpt::kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: HeaderName = HeaderName::from_static("reprieve-error-kind");

    fn read(status: u16, headers: &[(&'static str, &str)], body: &str) -> HandlerError {
        let headers = headers.iter().map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()));
        error(StatusCode::from_u16(status).unwrap(), &headers.collect(), body.as_bytes(), &KIND)
    }

    fn problem(body: &str) -> HandlerError {
        read(422, &[("content-type", "Application/Problem+JSON; charset=utf-8")], body)
    }

    #[test]
    fn an_error_without_more_is_named_by_its_status() {
        let error = read(503, &[], "");
        assert_eq!((error.kind.as_str(), error.status), ("http-503", Some(503)));
        assert_eq!(error.text, "the handler answered 503 Service Unavailable");
        assert_eq!((error.detail, error.retry_after), (None, None));
    }

    #[test]
    fn the_kind_header_goes_before_a_problem_type() {
        let headers = [("content-type", "application/problem+json"), ("reprieve-error-kind", "validation")];
        assert_eq!(read(400, &headers, r#"{"type":"urn:problem:other"}"#).kind, "validation");
    }

    #[test]
    fn a_problem_type_names_the_kind_by_its_last_part() {
        for (uri, kind) in [
            ("https://example.com/problems/out-of-stock", "out-of-stock"),
            ("https://example.com/problems/out-of-stock/", "out-of-stock"),
            ("https://example.com/problems#out-of-stock", "out-of-stock"),
            ("urn:problem:out-of-stock", "out-of-stock"),
            ("out-of-stock", "out-of-stock"),
            ("about:blank", "http-422"),
            ("", "http-422"),
            ("///", "http-422"),
        ] {
            assert_eq!(problem(&format!(r#"{{"type":"{uri}"}}"#)).kind, kind, "{uri}");
        }
    }

    #[test]
    fn a_problem_is_told_by_title_and_detail() {
        let both = problem(r#"{"title":"Out of stock","detail":"item 7"}"#);
        assert_eq!(both.text, "Out of stock: item 7");
        assert_eq!(both.detail.as_deref(), Some(r#"{"title":"Out of stock","detail":"item 7"}"#));
        assert_eq!(problem(r#"{"detail":"item 7"}"#).text, "item 7");
    }

    #[test]
    fn a_problem_that_is_none_is_read_as_text() {
        for nonsense in ["{", "[1]", "5", r#"{"type":5}"#] {
            let error = problem(nonsense);
            assert_eq!((error.kind.as_str(), error.text.as_str()), ("http-422", nonsense));
        }
    }

    #[test]
    fn a_page_of_html_is_kept_as_detail_only() {
        let error = read(502, &[("content-type", "text/html")], "<html>\n<h1>Bad</h1>");
        assert_eq!(error.text, "the handler answered 502 Bad Gateway");
        assert_eq!(error.detail.as_deref(), Some("<html>\n<h1>Bad</h1>"));
    }

    #[test]
    fn retry_after_in_seconds_is_kept_in_milliseconds() {
        assert_eq!(read(429, &[("retry-after", "7")], "slow down").retry_after, Some(7000));
        assert_eq!(read(429, &[("retry-after", "later")], "slow down").retry_after, None);
    }
}
