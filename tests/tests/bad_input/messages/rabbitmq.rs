//! A real broker's messages, at their oddest.

use std::collections::BTreeMap;

use lapin::BasicProperties;
use lapin::message::Delivery;
use lapin::types::{AMQPValue, DecimalValue, FieldTable};
use reprieve::delivery::HeaderNames;
use reprieve_tests::rabbitmq::{Sandbox, url};

use crate::endpoint::Endpoint;
use crate::place::Place;
use crate::program::Program;

/// A host with one route whose handler refuses what says so.
pub(super) struct Stage {
    pub(super) sandbox: Sandbox,
    pub(super) source: String,
    pub(super) dead: String,
    pub(super) place: Place,
    pub(super) program: Program,
}

impl Stage {
    pub(super) async fn new(handler: &str, arguments: &[(&str, AMQPValue)]) -> Self {
        let sandbox = Sandbox::new().await;
        let (source, dead) = (sandbox.queue("orders", arguments).await, sandbox.queue("orders.dlq", arguments).await);
        let place = Place::new(&format!("{}{}", broker(), route("orders", &source, &dead, handler)));
        let program = place.run();
        program.wait_until_ready("orders");
        Self { sandbox, source, dead, place, program }
    }

    /// Takes this many dead letters, and sees that there are no more and nothing is left.
    pub(super) async fn dead_letters(&self, count: u32) -> BTreeMap<String, Delivery> {
        self.sandbox.wait_for_count(&self.dead, count).await;
        let mut letters = BTreeMap::new();
        while let Some(letter) = self.sandbox.poll(&self.dead).await {
            let id = letter.properties.message_id().as_ref().expect("an id").to_string();
            assert!(letters.insert(id, letter).is_none(), "twice");
        }
        assert_eq!(self.sandbox.count(&self.source).await, 0);
        letters
    }

    pub(super) async fn stop(self) {
        self.program.assert_that_mails_are_handled(&self.place);
        self.program.stop();
        self.sandbox.wait_for_count(&self.source, 0).await;
    }
}

pub(super) fn broker() -> String {
    format!("\n[brokers.main]\nkind = \"rabbitmq\"\nurl = \"{}\"\n", url())
}

pub(super) fn route(name: &str, source: &str, dead: &str, handler: &str) -> String {
    format!(
        "\n[[routes]]\nname = \"{name}\"\nbroker = \"main\"\nsource = \"{source}\"\nconcurrency = 8\n\
         handler = {handler}\ndead_letters = {{ default = \"{dead}\" }}\n"
    )
}

pub(super) fn http(endpoint: &Endpoint) -> String {
    format!("{{ kind = \"http\", url = \"http://{}/orders\" }}", endpoint.address)
}

fn named(id: &str) -> BasicProperties {
    BasicProperties::default().with_message_id(id.into())
}

fn headers(letter: &Delivery) -> &BTreeMap<lapin::types::ShortString, AMQPValue> {
    letter.properties.headers().as_ref().expect("headers").inner()
}

fn text(text: &str) -> AMQPValue {
    AMQPValue::LongString(text.into())
}

/// Due then, no tier of any route can take a message.
const FAR: &str = "9999-12-31T23:59:59.999Z";

/// What a sender may write where we expect a count, a time or a name. The broker takes no float without a number.
fn nonsense() -> Vec<AMQPValue> {
    let texts = ["", "\n\0\r\ttier", "-1", "NaN", FAR, "1970-01-01T00:00:00Z", "0000-00-00", "billing"];
    let mut values: Vec<AMQPValue> = texts.map(text).into();
    values.extend([
        text(&"9".repeat(5000)),
        AMQPValue::LongString(b"\xff\xfe".as_slice().into()),
        AMQPValue::Void,
        AMQPValue::Boolean(true),
        AMQPValue::ShortShortInt(-1),
        AMQPValue::ShortShortUInt(255),
        AMQPValue::ShortInt(i16::MIN),
        AMQPValue::ShortUInt(u16::MAX),
        AMQPValue::LongInt(i32::MIN),
        AMQPValue::LongUInt(u32::MAX),
        AMQPValue::LongLongInt(i64::MAX),
        AMQPValue::LongLongInt(i64::MIN),
        AMQPValue::Float(f32::MIN),
        AMQPValue::Double(f64::MAX),
        AMQPValue::DecimalValue(DecimalValue { scale: 255, value: u32::MAX }),
        AMQPValue::ByteArray(b"\0".as_slice().into()),
        AMQPValue::Timestamp(u64::MAX),
        AMQPValue::FieldArray(vec![AMQPValue::Void].into()),
        AMQPValue::FieldTable(FieldTable::default()),
    ]);
    values
}

fn our_names() -> [String; 23] {
    let HeaderNames {
        prefix: _,
        attempts,
        origin_topic,
        error,
        route,
        error_kind,
        first_failed_at,
        failed_at,
        reason,
        policy,
        tier,
        due,
        expires_at,
        redrives,
        origin_exchange,
        origin_routing_key,
        origin_partition,
        origin_offset,
        origin_group,
        origin_timestamp,
        expiration,
        user_id,
        cc,
        bcc,
    } = HeaderNames::new("reprieve-");
    [
        attempts,
        origin_topic,
        error,
        route,
        error_kind,
        first_failed_at,
        failed_at,
        reason,
        policy,
        tier,
        due,
        expires_at,
        redrives,
        origin_exchange,
        origin_routing_key,
        origin_partition,
        origin_offset,
        origin_group,
        origin_timestamp,
        expiration,
        user_id,
        cc,
        bcc,
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn our_own_headers_are_made_anew_whatever_a_sender_wrote_there() {
    let endpoint = Endpoint::start();
    let stage = Stage::new(&http(&endpoint), &[]).await;
    let mut sent: BTreeMap<String, FieldTable> = BTreeMap::new();
    for (number, value) in nonsense().into_iter().enumerate() {
        for name in our_names() {
            // Alone, and beside the name of the route, which makes it a copy of this one.
            for route in [None, Some("orders")] {
                let mut table = FieldTable::default();
                if let Some(route) = route {
                    table.insert("reprieve-route".into(), text(route));
                }
                table.insert(name.as_str().into(), value.clone());
                table.insert("tenant".into(), text("blue"));
                sent.insert(format!("{name}/{number}/{}", route.unwrap_or_default()), table);
            }
        }
        // All of them at once.
        let mut table: FieldTable = FieldTable::default();
        for name in our_names() {
            table.insert(name.into(), value.clone());
        }
        table.insert("reprieve-unknown".into(), value.clone());
        table.insert("tenant".into(), text("blue"));
        sent.insert(format!("all/{number}/"), table);
    }
    for (id, table) in &sent {
        stage.sandbox.put(&stage.source, b"refuse", named(id).with_headers(table.clone())).await;
    }

    let letters = stage.dead_letters(u32::try_from(sent.len()).unwrap()).await;
    for (id, letter) in &letters {
        let (headers, sent) = (headers(letter), &sent[id]);
        let is = |name: &str, value: AMQPValue| assert_eq!(headers[name], value, "{id}: {name}");
        is("tenant", text("blue"));
        is("reprieve-route", text("orders"));
        is("reprieve-origin-topic", text(&stage.source));
        if id.starts_with("all/") || id.ends_with("/orders") {
            // It poses as a copy, whose origin is kept where it can be read as text.
            for name in ["reprieve-origin-exchange", "reprieve-origin-routing-key", "reprieve-origin-timestamp"] {
                let is_text = |value: &AMQPValue| value.as_long_string().is_some() || value.as_byte_array().is_some();
                assert!(headers.get(name).is_none_or(is_text), "{id}: {name}");
            }
        } else {
            is("reprieve-origin-exchange", text(""));
            is("reprieve-origin-routing-key", text(&stage.source));
        }
        let AMQPValue::LongLongInt(attempts) = headers["reprieve-attempts"] else { panic!("{id}: {headers:?}") };
        let far_due = sent.inner().get("reprieve-due") == Some(&text(FAR)) && id.ends_with("/orders");
        if far_due {
            is("reprieve-error-kind", text("not-due"));
            assert_eq!(attempts, 0, "{id}: it was not handled");
            continue;
        }
        let noted = id.starts_with("reprieve-attempts/") && id.ends_with("/orders");
        assert!(attempts == 1 || noted && (1..=i64::from(u32::MAX)).contains(&attempts), "{id}: {attempts}");
        for name in
            ["reprieve-failed-at", "reprieve-first-failed-at", "reprieve-error", "reprieve-reason", "reprieve-policy"]
        {
            assert!(headers[name].as_long_string().is_some_and(|text| !text.is_empty()), "{id}: {name}");
            // A time on what poses as a copy counts as noted.
            let is_noted = name == "reprieve-first-failed-at" && id.ends_with("/orders");
            assert!(is_noted || Some(&headers[name]) != sent.inner().get(name), "{id}: {name} is the sender's");
        }
        for name in ["reprieve-tier", "reprieve-due", "reprieve-unknown"] {
            assert!(!headers.contains_key(name), "{id}: {name}: {:?}", headers[name]);
        }
    }
    assert_eq!(letters.len(), sent.len());
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn priorities_expirations_and_carbon_copies_are_kept_beside_the_message() {
    let endpoint = Endpoint::start();
    let arguments = [("x-max-priority", AMQPValue::LongInt(10))];
    let stage = Stage::new(&http(&endpoint), &arguments).await;
    let copied = stage.sandbox.queue("copied", &[]).await;
    let hidden = stage.sandbox.queue("hidden", &[]).await;
    let list = |queue: &str| AMQPValue::FieldArray(vec![text(queue)].into());
    let mut carbon = FieldTable::default();
    carbon.insert("CC".into(), list(&copied));
    carbon.insert("BCC".into(), list(&hidden));
    let login = url().split_once("://").unwrap().1.split_once([':', '@']).unwrap().0.to_owned();
    let cases = [
        named("low").with_priority(0).with_delivery_mode(1),
        named("high").with_priority(10),
        named("higher than the queue's").with_priority(255),
        named("long").with_expiration("4294967295".into()),
        named("user").with_user_id(login.as_str().into()),
        named("carbon").with_headers(carbon),
        named("twice").with_type("first".into()),
        named("empty strings").with_content_type("".into()).with_reply_to("".into()).with_correlation_id("".into()),
        named("").with_timestamp(0),
    ];
    for properties in &cases {
        stage.sandbox.put(&stage.source, b"refuse", properties.clone()).await;
    }
    let letters = stage.dead_letters(cases.len().try_into().unwrap()).await;
    for sent in &cases {
        let id = sent.message_id().as_ref().unwrap().to_string();
        let letter = &letters[&id];
        let found = &letter.properties;
        assert_eq!(letter.data, b"refuse", "{id}");
        assert_eq!(*found.delivery_mode(), Some(2), "{id}: a dead letter outlives its broker");
        assert_eq!((found.expiration(), found.user_id()), (&None, &None), "{id}");
        assert_eq!(
            (
                found.priority(),
                found.content_type(),
                found.reply_to(),
                found.correlation_id(),
                found.kind(),
                found.timestamp()
            ),
            (
                sent.priority(),
                sent.content_type(),
                sent.reply_to(),
                sent.correlation_id(),
                sent.kind(),
                sent.timestamp()
            ),
            "{id}"
        );
    }
    let kept = |id: &str, name: &str| headers(&letters[id]).get(name).cloned();
    assert_eq!(kept("long", "reprieve-expiration"), Some(text("4294967295")));
    assert_eq!(kept("user", "reprieve-user-id"), Some(text(&login)));
    assert_eq!(kept("carbon", "reprieve-cc"), Some(list(&copied)));
    assert_eq!((kept("carbon", "CC"), kept("carbon", "BCC")), (None, None));
    // The sender's own copies, and none of ours.
    assert_eq!((stage.sandbox.count(&copied).await, stage.sandbox.count(&hidden).await), (1, 1));
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_of_64_mib_is_handled_and_dead_lettered_byte_for_byte() {
    const BODY: usize = 64 * 1024 * 1024;
    let stage = Stage::new(r#"{ kind = "command", program = ["sh", "-c", "cksum > sum; exit 1"] }"#, &[]).await;
    let before = stage.program.memory_peak();
    // No two stretches are alike.
    let body: Vec<u8> =
        (0..BODY as u64 / 8).flat_map(|n| n.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_le_bytes()).collect();
    for round in 0..3 {
        let id = format!("large {round}");
        stage.sandbox.put(&stage.source, &body, named(&id)).await;
        let letter = stage.sandbox.take_within(&stage.dead, std::time::Duration::from_secs(60)).await;
        assert_eq!(letter.properties.message_id().as_ref().unwrap().as_str(), id);
        assert!(letter.data == body, "byte for byte");
        let sum = std::fs::read_to_string(stage.place.path("sum")).unwrap();
        assert_eq!(sum.split_whitespace().nth(1), Some(BODY.to_string().as_str()), "the handler got all of it");
    }
    let grown = stage.program.memory_peak() - before;
    assert!(grown < 4 * BODY as u64, "three messages, one at a time, took {} MiB", grown / 1024 / 1024);
    stage.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn dead_letters_of_another_route_are_messages_like_any_other() {
    let endpoint = Endpoint::start();
    let stage_dead = {
        let sandbox = Sandbox::new().await;
        let (source, first, second) =
            (sandbox.queue("orders", &[]).await, sandbox.queue("first", &[]).await, sandbox.queue("second", &[]).await);
        let handler = http(&endpoint);
        let routes = route("orders", &source, &first, &handler) + &route("repair", &first, &second, &handler);
        let place = Place::new(&(broker() + &routes));
        let program = place.run();
        program.wait_until_ready("orders");
        program.wait_until_ready("repair");
        sandbox.put(&source, b"refuse", named("m").with_expiration("600000".into())).await;
        let letter = sandbox.take(&second).await;
        program.assert_that_mails_are_handled(&place);
        program.stop();
        assert_eq!(
            (sandbox.count(&source).await, sandbox.count(&first).await, sandbox.count(&second).await),
            (0, 0, 0)
        );
        assert_eq!(headers(&letter)["reprieve-origin-topic"], text(&first));
        letter
    };
    let headers = headers(&stage_dead);
    assert_eq!(endpoint.requests().len(), 2, "once on each route");
    assert_eq!(headers["reprieve-attempts"], AMQPValue::LongLongInt(1), "the count begins anew");
    assert_eq!(headers["reprieve-route"], text("repair"));
    assert_eq!(headers["reprieve-expiration"], text("600000"), "what the sender set is kept through both");
}
