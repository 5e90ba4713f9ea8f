//! Messages that differ in everything that a policy can see.

use bytes::Bytes;
use reprieve::handler_error::HandlerError;
use reprieve::message::{HeaderValue, Headers, Message, Properties};
use reprieve::timestamp::Timestamp;

/// The header that says what the attempts fail with, as the error's JSON.
pub(crate) const ERROR: &str = "error";

/// The headers of the messages, by name: every type that there is, and numbers that are hard to write.
fn headers() -> Vec<(&'static str, HeaderValue)> {
    let table: Headers =
        [("n".to_owned(), HeaderValue::U8(7)), ("list".to_owned(), HeaderValue::Array(vec![1_i64.into()]))]
            .into_iter()
            .collect();
    vec![
        ("x-null", HeaderValue::Null),
        ("x-bool", HeaderValue::Bool(true)),
        ("x-i8", HeaderValue::I8(-128)),
        ("x-u8", HeaderValue::U8(255)),
        ("x-i16", HeaderValue::I16(-32_768)),
        ("x-u16", HeaderValue::U16(65_535)),
        ("x-i32", HeaderValue::I32(i32::MIN)),
        ("x-u32", HeaderValue::U32(u32::MAX)),
        ("x-i64", HeaderValue::I64(i64::MIN)),
        ("x-f32", HeaderValue::F32(0.1)),
        ("x-f64", HeaderValue::F64(0.1 + 0.2)),
        // Read with less than the whole precision, these come out as their neighbours.
        ("x-f64", HeaderValue::F64(31.245_270_191_439_438)),
        ("x-f64", HeaderValue::F64(121.487_919_511_619_45)),
        ("x-f64", HeaderValue::F64(2.225_073_858_507_201e-308)),
        ("x-f64", HeaderValue::F64(9_007_199_254_740_993.5)),
        ("x-f64", HeaderValue::F64(-0.0)),
        ("x-infinite", HeaderValue::F64(f64::NEG_INFINITY)),
        ("x-none", HeaderValue::F32(f32::NAN)),
        ("x-decimal", HeaderValue::Decimal { scale: 2, value: 1999 }),
        ("x-short", HeaderValue::ShortText("short".to_owned())),
        ("x-text", "ünïcode \u{0} and \"quotes\"\r\n".into()),
        ("x-no-text", HeaderValue::Text(Bytes::from_static(&[0xff, 0xfe, b'a']))),
        ("x-bytes", HeaderValue::Bytes(Bytes::from_static(&[0, 1, 2, 0xff]))),
        ("x-time", HeaderValue::Timestamp(1_767_268_800)),
        ("x-array", HeaderValue::Array(vec![HeaderValue::F64(1e-7), HeaderValue::Null, "a".into()])),
        ("x-table", HeaderValue::Table(table)),
        ("x-empty", "".into()),
        ("h-1", "text".into()),
        ("h-1", "another of the same name".into()),
        ("h-2", "text".into()),
        ("", "without a name".into()),
        ("x-long", HeaderValue::Bytes(vec![b'l'; 20_000].into())),
    ]
}

fn errors() -> Vec<HandlerError> {
    let detail = |length: usize| Some("é\n".repeat(length / 3));
    let limited =
        HandlerError { status: Some(429), retry_after: Some(3), ..HandlerError::new("http-429", "slow down") };
    let panicked = HandlerError { panicked: true, ..HandlerError::new("panic", "no stock") };
    vec![
        HandlerError::new("http-503", "the service is unavailable"),
        HandlerError { detail: detail(100), ..limited },
        HandlerError::timeout(std::time::Duration::from_secs(10)),
        panicked,
        HandlerError::new("validation", "no \"amount\""),
        HandlerError { detail: detail(60_000), ..HandlerError::new("error", "t".repeat(9_000)) },
        HandlerError::new("k".repeat(6_000), ""),
        HandlerError::new("", "\u{1b}[31mred\u{7}"),
        HandlerError { status: Some(u16::MAX), retry_after: Some(0), ..HandlerError::new("exit-1", "ended") },
    ]
}

fn bodies() -> Vec<Option<Bytes>> {
    vec![
        None,
        Some(Bytes::new()),
        Some(Bytes::from_static(b"{\"order\": 7}")),
        Some(Bytes::from_static(&[0xff, 0, 0xc3])),
        Some("zwölf".repeat(20_000).into()),
    ]
}

/// One for each header, the errors and bodies by turns; among them some with an id, a key, properties, and times.
pub(crate) fn all() -> Vec<Message> {
    let (errors, bodies) = (errors(), bodies());
    let message = |(n, (name, value)): (usize, (&'static str, HeaderValue))| {
        let error = &errors[n % errors.len()];
        let mut message = Message {
            id: (n % 3 > 0).then(|| format!("message-{n}")),
            key: [None, Some(Bytes::from_static(b"key")), Some(Bytes::from_static(&[0xfe])), Some(Bytes::new())][n % 4]
                .clone(),
            body: bodies[n % bodies.len()].clone(),
            timestamp: (n % 5 > 2).then(|| Timestamp(Timestamp::now().0 - 90_000 * n as u64)),
            properties: Properties {
                content_type: (n % 2 == 0).then(|| "application/json; charset=utf-8".to_owned()),
                message_type: (n % 4 == 1).then(|| "order.placed".to_owned()),
                user_id: (n % 7 == 1).then(|| "guest".to_owned()),
                expiration: (n % 6 == 5).then(|| "600000".to_owned()),
                priority: (n % 5 == 1).then_some(9),
                ..Properties::default()
            },
            ..Message::default()
        };
        message.headers.push(ERROR, serde_json::to_string(error).expect("an error is JSON"));
        message.headers.push(name, value);
        // Every header on one of them, and the others that the rules are about.
        if n == 0 {
            headers().into_iter().for_each(|(name, value)| message.headers.push(name, value));
        }
        if n % 4 == 3 {
            message.headers.push("h-1", "text");
        }
        message
    };
    headers().into_iter().enumerate().map(message).collect()
}

/// What the misbehaving policy takes for an order.
pub(crate) fn faults() -> Vec<Message> {
    ["panic", "recurse", "eat-memory", "many-headers", "reserved-header", "nul-label", "loop", "count"]
        .into_iter()
        .map(|kind| {
            let error = HandlerError::new(kind, "told to");
            Message::new(kind)
                .with_id(kind)
                .with_header(ERROR, serde_json::to_string(&error).expect("an error is JSON"))
        })
        .collect()
}
