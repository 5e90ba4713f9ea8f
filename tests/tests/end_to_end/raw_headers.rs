//! Headers that no client library writes: header frames made byte by byte.

use std::collections::BTreeMap;

use lapin::types::{AMQPValue, DecimalValue, FieldTable};
use reprieve_tests::rabbitmq::Sandbox;
use serde_json::json;

use crate::support::{Handler, Message, Scene, answers};

const HEADERS: u16 = 1 << 13;
const MESSAGE_ID: u16 = 1 << 7;

/// The properties of a message with this id and these fields, each a name, the letter of a type and its bytes.
fn properties(id: &[u8], fields: &[(&[u8], u8, Vec<u8>)]) -> Vec<u8> {
    let mut table = Vec::new();
    for (name, letter, value) in fields {
        table.extend([&[u8::try_from(name.len()).expect("a short name")], *name, &[*letter], value].concat());
    }
    [&(HEADERS | MESSAGE_ID).to_be_bytes()[..], &long(&table), &[u8::try_from(id.len()).expect("a short id")], id]
        .concat()
}

/// Bytes behind their length.
fn long(bytes: &[u8]) -> Vec<u8> {
    [&u32::try_from(bytes.len()).expect("a short text").to_be_bytes()[..], bytes].concat()
}

fn scene(ids: &[&str]) -> (Scene, String, String, Handler) {
    let scene = Scene::new();
    let (orders, letters) = (scene.queue("orders"), scene.queue("letters"));
    let handler = scene.handler(&ids.iter().map(|id| ((*id).to_owned(), answers(&[422]))).collect());
    (scene, orders, letters, handler)
}

fn route(name: &str, source: &str, letters: &str, url: &str) -> String {
    format!(
        r#"
[[routes]]
name = "{name}"
broker = "main"
source = "{source}"
handler = {{ kind = "http", url = "{url}" }}
dead_letters = {{ default = "{letters}" }}
"#
    )
}

/// The sender's headers, sorted.
fn senders(headers: &FieldTable) -> BTreeMap<String, AMQPValue> {
    let fields = headers.into_iter().filter(|(name, _)| !name.as_str().starts_with("reprieve-"));
    fields.map(|(name, value)| (name.to_string(), value.clone())).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn fields_of_every_letter_that_the_broker_knows_reach_the_dead_letter_as_they_are() {
    let (scene, orders, letters, handler) = scene(&["odd"]);
    let mut program = scene.program(&route("orders", &orders, &letters, &handler.url()));
    program.wait_until_ready();
    let nested = long(&[&b"V"[..], b"A", &long(&[&b"t\x02"[..], b"A", &long(b"")].concat())].concat());
    let inner = long(&[&b"\x01n"[..], b"F", &long(b"\x00V")].concat());
    let fields: Vec<(&[u8], u8, Vec<u8>)> = vec![
        (b"", b'V', Vec::new()),
        (b" \t\r\n\0\"", b'b', vec![0x80]),
        (b"byte", b'B', vec![0xff]),
        (b"short", b's', vec![0x80, 0]),
        (b"unsigned short", b'u', vec![0xff, 0xff]),
        (b"unsigned", b'i', vec![0xff; 4]),
        (b"long", b'l', vec![0x80, 0, 0, 0, 0, 0, 0, 0]),
        (b"float", b'f', f32::MIN.to_be_bytes().to_vec()),
        (b"tiny", b'd', f64::MIN_POSITIVE.to_be_bytes().to_vec()),
        (b"decimal", b'D', vec![255, 0xff, 0xff, 0xff, 0xff]),
        (b"not utf-8", b'S', long(b"\xff\xfe\0")),
        (b"bytes", b'x', long(b"\0\x80\xff")),
        (b"time", b'T', vec![0xff; 8]),
        (b"nested", b'A', nested),
        (b"table", b'F', inner),
        (b"twice", b'S', long(b"first")),
        (b"twice", b'I', vec![0, 0, 0, 2]),
    ];
    scene.broker.publish_raw(&orders, &[(properties(b"odd", &fields), "body")]);
    scene.broker.wait_for_count(&letters, 1);
    let letter = Sandbox::new().await.take(&letters).await;
    program.stop();

    let inner = FieldTable::from(BTreeMap::from([("".into(), AMQPValue::Void)]));
    let expected: BTreeMap<&str, AMQPValue> = [
        ("", AMQPValue::Void),
        (" \t\r\n\0\"", AMQPValue::ShortShortInt(i8::MIN)),
        ("byte", AMQPValue::ShortShortUInt(u8::MAX)),
        ("short", AMQPValue::ShortInt(i16::MIN)),
        ("unsigned short", AMQPValue::ShortUInt(u16::MAX)),
        ("unsigned", AMQPValue::LongUInt(u32::MAX)),
        ("long", AMQPValue::LongLongInt(i64::MIN)),
        ("float", AMQPValue::Float(f32::MIN)),
        ("tiny", AMQPValue::Double(f64::MIN_POSITIVE)),
        ("decimal", AMQPValue::DecimalValue(DecimalValue { scale: 255, value: u32::MAX })),
        ("not utf-8", AMQPValue::LongString(b"\xff\xfe\0".as_slice().into())),
        ("bytes", AMQPValue::ByteArray(b"\0\x80\xff".as_slice().into())),
        ("time", AMQPValue::Timestamp(u64::MAX)),
        (
            "nested",
            AMQPValue::FieldArray(
                vec![
                    AMQPValue::Void,
                    AMQPValue::FieldArray(
                        vec![AMQPValue::Boolean(true), AMQPValue::FieldArray(Vec::new().into())].into(),
                    ),
                ]
                .into(),
            ),
        ),
        (
            "table",
            AMQPValue::FieldTable(FieldTable::from(BTreeMap::from([("n".into(), AMQPValue::FieldTable(inner))]))),
        ),
        ("twice", AMQPValue::LongInt(2)),
    ]
    .into();
    let found = senders(letter.properties.headers().as_ref().expect("headers"));
    assert_eq!(found, expected.into_iter().map(|(name, value)| (name.to_owned(), value)).collect());
    assert_eq!(letter.data, b"body");
    assert_eq!(handler.asked().len(), 1);
}

#[test]
fn what_is_no_text_where_amqp_wants_text_does_not_hold_up_a_route() {
    let (scene, orders, letters, handler) = scene(&["name", "key", "id-??", "last"]);
    let exchange = scene.name("exchange");
    let mut program = scene.program(&route("orders", &orders, &letters, &handler.url()));
    program.wait_until_ready();
    let invalid = b"\xff\xfe";
    let raw =
        [(properties(b"name", &[(invalid, b'S', long(invalid))]), "fine"), (properties(b"id-\xff\xfe", &[]), "fine")];
    scene.broker.publish_raw(&orders, &raw);
    scene.broker.publish_through(&exchange, b"order.\xff", &orders, &Message::new("key"));
    scene.broker.publish(&orders, &[Message::new("last")]);
    scene.broker.wait_for_count(&letters, 4);
    program.stop();

    let letters = scene.broker.take_all(&letters);
    let letter = |id: &str| letters.iter().find(|letter| letter.id() == id).expect("a dead letter");
    assert_eq!(letter("name").headers["??"], json!({ "bytes": "\u{ff}\u{fe}" }), "values are never touched");
    assert_eq!(letter("key").text("reprieve-origin-routing-key"), Some("order.?"));
    letter("id-??");
    letter("last");
    assert_eq!(handler.asked().len(), 4, "each once");
    assert_eq!(scene.broker.count(&orders), 0);
}
