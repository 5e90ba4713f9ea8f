//! What a request says of its message.

use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};

use crate::handler::{Call, excerpt};
use crate::message;

/// Servers refuse a request with more than about a hundred headers, or more than 8 to 16 KiB of them; a message must
/// not fail for that.
const MAX_MESSAGE_HEADERS: usize = 64;
/// Names and values together. The rest of the 8 KiB is for ours and the client's.
const MAX_MESSAGE_HEADER_BYTES: usize = 5 * 1024;
/// The longest of our own values, such as an id or a key.
const MAX_VALUE: usize = 512;

/// The request's headers: the configured ones, then ours, then the message's.
pub(super) fn headers(configured: &HeaderMap, call: &Call) -> HeaderMap {
    let mut headers = configured.clone();
    let properties = &call.message.properties;
    let content_type = properties.content_type.as_deref().and_then(|text| legal(text.as_bytes()));
    headers.insert(CONTENT_TYPE, content_type.unwrap_or(HeaderValue::from_static("application/octet-stream")));

    let mut put = |name: &'static str, value: Option<&[u8]>| {
        // Whatever was configured under a name of ours must not pass for the message's.
        headers.remove(name);
        if let Some(value) = value.and_then(legal) {
            headers.insert(HeaderName::from_static(name), value);
        }
    };
    put("reprieve-id", call.message.id.as_deref().map(str::as_bytes));
    put("reprieve-attempt", Some(call.attempt.to_string().as_bytes()));
    put("reprieve-redelivered", Some(if call.redelivered { b"true" } else { b"false" }));
    put("reprieve-route", Some(call.route.as_bytes()));
    put("reprieve-key", call.message.key.as_deref());
    put("reprieve-content-encoding", properties.content_encoding.as_deref().map(str::as_bytes));

    put("traceparent", call.traceparent().map(str::as_bytes));
    put("tracestate", call.tracestate().map(str::as_bytes));

    put_message_headers(&mut headers, &call.message.headers);
    headers
}

fn legal(value: &[u8]) -> Option<HeaderValue> {
    (value.len() <= MAX_VALUE).then(|| HeaderValue::from_bytes(value).ok()).flatten()
}

fn put_message_headers(headers: &mut HeaderMap, from: &message::Headers) {
    let (mut count, mut bytes) = (0, 0);
    for (name, value) in from.iter() {
        let Some(text) = excerpt::header_text(value) else { continue };
        let size = name.len() + text.len();
        if count == MAX_MESSAGE_HEADERS || bytes + size > MAX_MESSAGE_HEADER_BYTES {
            continue;
        }
        let name = HeaderName::try_from(format!("reprieve-header-{name}"));
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_bytes(text.as_bytes())) {
            // Of several headers with one name the last counts, as in `Headers::get`.
            headers.insert(name, value);
            count += 1;
            bytes += size;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::broker::Origin;
    use crate::message::Message;

    fn call(message: Message) -> Call {
        Call {
            message: Arc::new(message),
            origin: Origin::default(),
            route: "orders".into(),
            attempt: 3,
            redelivered: true,
            own_traceparent: None,
        }
    }

    fn shown(headers: &HeaderMap) -> Vec<String> {
        let show = |(name, value): (&HeaderName, &HeaderValue)| {
            format!("{name}: {}", String::from_utf8_lossy(value.as_bytes()))
        };
        let mut lines: Vec<_> = headers.iter().map(show).collect();
        lines.sort();
        lines
    }

    #[test]
    fn the_handler_is_told_id_attempt_redelivery_route_key_and_headers() {
        let mut message = Message::new("{}").with_id("m-1").with_header("Tenant", "blue").with_header("size", 7i64);
        message.key = Some("k1".into());
        message.properties.content_type = Some("application/json".to_owned());
        message.properties.content_encoding = Some("gzip".to_owned());
        assert_eq!(
            shown(&headers(&HeaderMap::new(), &call(message))),
            [
                "content-type: application/json",
                "reprieve-attempt: 3",
                "reprieve-content-encoding: gzip",
                "reprieve-header-size: 7",
                "reprieve-header-tenant: blue",
                "reprieve-id: m-1",
                "reprieve-key: k1",
                "reprieve-redelivered: true",
                "reprieve-route: orders",
            ]
        );
    }

    #[test]
    fn the_handler_is_told_the_trace_of_the_hosts_span_else_of_the_message() {
        const SENDERS: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let own = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01";
        let message = Message::new("").with_header("traceparent", SENDERS).with_header("tracestate", "v=1");
        let of = |call: &Call| {
            let headers = headers(&HeaderMap::new(), call);
            ["traceparent", "tracestate"].map(|name| Some(headers.get(name)?.to_str().unwrap().to_owned()))
        };
        let mut traced = call(message);
        assert_eq!(of(&traced), [Some(SENDERS.to_owned()), Some("v=1".to_owned())]);
        traced.own_traceparent = Some(own.into());
        assert_eq!(of(&traced), [Some(own.to_owned()), Some("v=1".to_owned())]);
        let broken = Message::new("").with_header("traceparent", "nonsense").with_header("tracestate", "v=1");
        assert_eq!(of(&call(broken)), [None, None]);
    }

    #[test]
    fn what_http_does_not_allow_is_left_out() {
        let mut message = Message::new("")
            .with_id("two\r\nlines: 1")
            .with_header("two words", "x")
            .with_header("broken", "a\r\nreprieve-id: forged")
            .with_header("empty", "")
            .with_header("nothing", message::HeaderValue::Null);
        message.properties.content_type = Some("text/\nplain".to_owned());
        message.key = Some(vec![0u8, 1].into());
        assert_eq!(
            shown(&headers(&HeaderMap::new(), &call(message))),
            [
                "content-type: application/octet-stream",
                "reprieve-attempt: 3",
                "reprieve-header-empty: ",
                "reprieve-redelivered: true",
                "reprieve-route: orders",
            ]
        );
    }

    #[test]
    fn a_huge_header_does_not_keep_the_others_from_the_handler() {
        let mut message = Message::new("").with_header("huge", "x".repeat(100_000));
        for number in 0..500 {
            message.headers.push(format!("n{number}"), "x");
        }
        let headers = headers(&HeaderMap::new(), &call(message));
        assert!(headers.get("reprieve-header-huge").is_none());
        assert!(headers.get("reprieve-header-n0").is_some());
        assert!(headers.len() < 100, "{} headers", headers.len());
    }

    #[test]
    fn a_configured_header_never_stands_for_the_messages_own() {
        let configured = HeaderMap::from_iter([
            (HeaderName::from_static("authorization"), HeaderValue::from_static("Bearer t")),
            (HeaderName::from_static("reprieve-id"), HeaderValue::from_static("forged")),
        ]);
        let headers = headers(&configured, &call(Message::new("")));
        assert_eq!(headers.get("authorization").unwrap(), "Bearer t");
        assert_eq!(headers.get("reprieve-id"), None);
    }
}
