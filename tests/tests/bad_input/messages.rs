//! Messages without a body, without an id, with a header of 100 kB: handled and dead-lettered as any other.

mod rabbitmq;

use lapin::BasicProperties;
use lapin::types::{AMQPValue, FieldTable};
use reprieve_tests::rabbitmq::{Sandbox, url};
use serde_json::json;

use crate::endpoint::Endpoint;
use crate::place::Place;

fn route(broker: &str, source: &str, dead: &str, endpoint: &Endpoint) -> String {
    format!(
        "\n[[routes]]\nname = \"orders\"\nbroker = \"{broker}\"\nsource = \"{source}\"\n\
         handler = {{ kind = \"http\", url = \"http://{}/orders\" }}\n\
         dead_letters = {{ default = \"{dead}\" }}\n",
        endpoint.address
    )
}

fn big() -> String {
    "x".repeat(100_000)
}

#[test]
fn in_memory() {
    let endpoint = Endpoint::start();
    let place = Place::new(&route("local", "orders", "orders.dlq", &endpoint));
    let program = place.run();
    program.wait_until_ready("orders");

    assert_eq!(program.post("orders", &[("reprieve-id", "a: no body")], b"").0, 202);
    assert_eq!(
        program.post("orders", &[("reprieve-id", "b: big header"), ("reprieve-header-big", &big())], b"refuse").0,
        202
    );
    assert_eq!(program.post("orders", &[], b"refuse").0, 202);
    program.assert_that_mails_are_handled(&place);

    let letters = program.messages("orders.dlq", 3);
    let named = |id: &str| letters.iter().find(|letter| letter["id"] == id).expect("a dead letter");
    assert_eq!(named("a: no body")["body"], "");
    let header = |name: &str| json!([name, big()]);
    assert!(named("b: big header")["headers"].as_array().unwrap().contains(&header("big")), "it is whole");
    let unnamed =
        letters.iter().find(|letter| !["a: no body", "b: big header"].contains(&letter["id"].as_str().unwrap()));
    let id = unnamed.expect("a dead letter")["id"].as_str().expect("it was given an id").to_owned();
    let lines = program.lines(&["attempt failed", "dead-lettered"], &[(&id, "GIVEN-ID")]);
    insta::assert_snapshot!("memory", lines);
    program.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn on_rabbitmq() {
    let sandbox = Sandbox::new().await;
    let (source, dead) = (sandbox.queue("orders", &[]).await, sandbox.name("orders.dlq"));
    let endpoint = Endpoint::start();
    let broker = format!("\n[brokers.main]\nkind = \"rabbitmq\"\nurl = \"{}\"\n", url());
    let place = Place::new(&(broker + &route("main", &source, &dead, &endpoint)));
    let program = place.run();
    program.wait_until_ready("orders");

    let named = |id: &str| BasicProperties::default().with_message_id(id.into());
    sandbox.put(&source, b"", named("no body")).await;
    let no_body = sandbox.take(&dead).await;
    assert_eq!((no_body.data.as_slice(), id(&no_body).as_deref()), (b"".as_slice(), Some("no body")));

    let mut headers = FieldTable::default();
    headers.insert("big".into(), AMQPValue::LongString(big().into()));
    sandbox.put(&source, b"refuse", named("big header").with_headers(headers)).await;
    let big_header = sandbox.take(&dead).await;
    assert_eq!((big_header.data.as_slice(), id(&big_header).as_deref()), (b"refuse".as_slice(), Some("big header")));
    let kept = big_header.properties.headers().as_ref().expect("headers").inner();
    assert_eq!(kept["big"], AMQPValue::LongString(big().into()), "it is whole");
    assert!(kept.contains_key("reprieve-error"), "and ours are beside it");

    sandbox.put(&source, b"refuse", BasicProperties::default()).await;
    let no_id = sandbox.take(&dead).await;
    let given = id(&no_id).expect("it was given an id");
    assert!(!given.is_empty());

    program.assert_that_mails_are_handled(&place);
    let names = [(given.as_str(), "GIVEN-ID"), (dead.as_str(), "DEAD"), (source.as_str(), "SOURCE")];
    insta::assert_snapshot!("rabbitmq", program.lines(&["attempt failed", "dead-lettered"], &names));
    program.stop();
    assert_eq!(endpoint.requests().len(), 3, "each was handled once");
    sandbox.wait_for_count(&source, 0).await;
}

fn id(message: &lapin::message::Delivery) -> Option<String> {
    message.properties.message_id().as_ref().map(ToString::to_string)
}
