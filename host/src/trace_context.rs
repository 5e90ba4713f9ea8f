//! The trace that a message belongs to, as its sender wrote it: W3C trace context in text headers.

use crate::message::Message;

/// The header that says which trace and span a message belongs to.
pub(crate) const TRACEPARENT: &str = "traceparent";
/// The header that carries what tracing systems add to it.
pub(crate) const TRACESTATE: &str = "tracestate";

/// The parent that a message names. Borrowed: reading it allocates nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceContext<'m> {
    /// `traceparent` as the sender wrote it.
    pub traceparent: &'m str,
    /// `tracestate` as the sender wrote it, which only tracing systems understand.
    pub tracestate: Option<&'m str>,
    /// Not zero.
    pub trace_id: u128,
    /// The parent's; not zero.
    pub span_id: u64,
    /// The sender's trace is recorded.
    pub sampled: bool,
}

impl<'m> TraceContext<'m> {
    /// The context that a message carries. A `traceparent` that is no text, or that W3C does not allow, is none.
    #[must_use]
    pub fn of(message: &'m Message) -> Option<Self> {
        let traceparent = message.headers.text(TRACEPARENT)?;
        let (trace_id, span_id, sampled) = parse(traceparent)?;
        Some(Self { traceparent, tracestate: message.headers.text(TRACESTATE), trace_id, span_id, sampled })
    }
}

/// `VERSION-TRACE-SPAN-FLAGS` in lower-case hexadecimal digits. A later version may say more behind another dash.
fn parse(text: &str) -> Option<(u128, u64, bool)> {
    let mut parts = text.splitn(5, '-');
    let version = hex(parts.next()?, 2)?;
    let trace_id = hex(parts.next()?, 32).filter(|id| *id != 0)?;
    let span_id = hex(parts.next()?, 16).filter(|id| *id != 0)?;
    let flags = hex(parts.next()?, 2)?;
    let is_allowed = version != 0xff && (version != 0 || parts.next().is_none());
    is_allowed.then_some((trace_id, u64::try_from(span_id).ok()?, flags & 1 == 1))
}

fn hex(digits: &str, length: usize) -> Option<u128> {
    let is_lower_case = digits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    (digits.len() == length && is_lower_case).then(|| u128::from_str_radix(digits, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::HeaderValue;

    const GOOD: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    fn read(traceparent: impl Into<HeaderValue>) -> Option<(u128, u64, bool)> {
        let message = Message::new("").with_header(TRACEPARENT, traceparent);
        TraceContext::of(&message).map(|context| (context.trace_id, context.span_id, context.sampled))
    }

    #[test]
    fn a_traceparent_names_trace_span_and_whether_it_is_sampled() {
        let ids = (0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c, 0xb7ad_6b71_6920_3331);
        assert_eq!(read(GOOD), Some((ids.0, ids.1, true)));
        assert_eq!(read(GOOD.replace("-01", "-00")), Some((ids.0, ids.1, false)));
        // Flags that nobody knows yet are no sampling.
        assert_eq!(read(GOOD.replace("-01", "-fe")), Some((ids.0, ids.1, false)));
    }

    #[test]
    fn text_is_text_in_whatever_type_a_client_sends_it() {
        assert!(read(HeaderValue::ShortText(GOOD.to_owned())).is_some());
        assert!(read(HeaderValue::Bytes(GOOD.into())).is_some());
    }

    #[test]
    fn a_later_version_may_say_more_and_this_one_may_not() {
        assert!(read(format!("cc{}-what-the-future-brings", &GOOD[2..])).is_some());
        assert!(read(format!("cc{}", &GOOD[2..])).is_some());
        assert_eq!(read(format!("{GOOD}-more")), None);
        assert_eq!(read(format!("{GOOD}-")), None);
    }

    #[test]
    fn what_is_malformed_is_ignored() {
        let malformed = [
            String::new(),
            " ".to_owned(),
            "---".to_owned(),
            "nonsense".to_owned(),
            GOOD[..54].to_owned(),
            format!("{GOOD}0"),
            format!(" {GOOD}"),
            GOOD.replace("00-", "ff-"),
            GOOD.replace("00-", "0-"),
            GOOD.replace("00-", "+0-"),
            GOOD.replace('-', "_"),
            GOOD.to_uppercase(),
            GOOD.replace("0af7", "0xg7"),
            GOOD.replace("0af7", "+af7"),
            GOOD.replace("0af7", "ßaf"),
            GOOD.replace("0af7651916cd43dd8448eb211c80319c", &"0".repeat(32)),
            GOOD.replace("b7ad6b7169203331", &"0".repeat(16)),
            GOOD.replace("b7ad6b7169203331", "b7ad6b716920333"),
            GOOD.replace("-01", "-1"),
            "0".repeat(1 << 20),
        ];
        for text in malformed {
            assert_eq!(read(text.as_str()), None, "{text:?}");
        }
        for value in [HeaderValue::Null, 7i64.into(), HeaderValue::Text(vec![0xff, 0xfe].into())] {
            assert_eq!(read(value.clone()), None, "{value:?}");
        }
        assert_eq!(TraceContext::of(&Message::new("")), None);
    }
}
