//! A broker that is down, cut off, or lacks a queue.

use std::collections::BTreeMap;

use reprieve_tests::rabbitmq::Proxy;
use serde_json::{Value, json};

use crate::flow::{Flow, SLOTS};
use crate::support::{Message, Program, Scene, answers, wait_until};

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn broker_connection_cut_loses_nothing() {
    const MESSAGES: usize = 200;
    const CUTS: usize = 3;
    let flow = Flow::new(MESSAGES);
    let proxy = Proxy::start().await;
    let mut program = flow.scene().program_on(&proxy.url(), &flow.route());
    for cut in 1..=CUTS {
        flow.handler.wait_for_answered(cut * MESSAGES / (CUTS + 1));
        proxy.cut();
    }
    let mut dead_letters = flow.wait_for_outcomes();
    program.wait_until_ready();
    program.stop();
    dead_letters.extend(flow.take_dead_letters());
    assert_eq!(flow.scene().broker.count(&flow.orders), 0);

    let repeated = flow.repeated(&dead_letters);
    assert!(repeated.len() <= CUTS * SLOTS, "more than were in work: {repeated:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_was_done_while_the_connection_was_cut_is_not_done_again() {
    let scene = Scene::new();
    let orders = scene.queue("orders");
    let gate = scene.path("gate");
    let handler = scene.handler(&BTreeMap::from([
        ("slow".to_owned(), json!([{ "status": 200, "wait_for": gate }])),
        ("next".to_owned(), answers(&[200])),
    ]));
    let proxy = Proxy::start().await;
    let mut program = scene.program_on(
        &proxy.url(),
        &format!(
            r#"
[[routes]]
name = "orders"
broker = "main"
source = "{orders}"
handler = {{ kind = "http", url = "{url}", timeout = "60s" }}
concurrency = 1
"#,
            url = handler.url(),
        ),
    );
    program.wait_until_ready();
    scene.broker.publish(&orders, &["slow", "next"].map(Message::new));
    handler.wait_for_asked(1);
    proxy.cut();
    wait_until("both are the broker's again", || (scene.broker.count(&orders) == 2).then_some(()));
    std::fs::write(gate, "").expect("a writable folder");

    handler.wait_for_answered(2);
    program.wait_until_ready();
    program.stop();
    assert_eq!(scene.broker.count(&orders), 0);
    let runs: Vec<String> = handler.asked().into_iter().map(|event| event.id).collect();
    assert_eq!(runs, ["slow", "next"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_broker_that_is_down_at_start_is_waited_for() {
    let scene = Scene::new();
    let orders = scene.queue("orders");
    let handler = scene.handler(&BTreeMap::from([("m".to_owned(), answers(&[200]))]));
    scene.broker.publish(&orders, &[Message::new("m")]);
    let proxy = Proxy::down();
    let mut program = scene.program_on(&proxy.url(), &route("orders", &orders, &handler.url()));

    let reason = reason_when(&program, "orders", |reason| reason.contains("[brokers.main]"));
    assert!(reason.contains("start it, or correct `url`"), "{reason}");
    assert_eq!(program.get("/healthz").0, 200);
    assert_eq!(handler.asked().len(), 0);

    let _proxy = proxy.up();
    handler.wait_for_answered(1);
    program.wait_until_ready();
    program.stop();
    assert_eq!(scene.broker.count(&orders), 0);
}

#[test]
fn a_queue_that_does_not_exist_stops_only_its_route() {
    let scene = Scene::new();
    let (orders, missing) = (scene.queue("orders"), scene.name("missing"));
    let handler = scene.handler(&["early", "late"].map(|id| (id.to_owned(), answers(&[200]))).into());
    let routes = route("orders", &orders, &handler.url()) + &route("refunds", &missing, &handler.url());
    let mut program = scene.program(&routes);

    let reason = reason_when(&program, "refunds", |reason| reason.contains(&missing));
    assert!(reason.contains("does not exist") && reason.contains("declare it, or correct `source`"), "{reason}");
    scene.broker.publish(&orders, &[Message::new("early")]);
    handler.wait_for_answered(1);
    let (status, ready) = program.get("/readyz");
    let waiting: Vec<&Value> =
        ready["not_ready"].as_array().expect("a list").iter().map(|route| &route["route"]).collect();
    assert_eq!((status, waiting), (503, vec![&json!("refunds")]));

    // Its route goes on once it is there, without a restart.
    scene.broker.declare(&missing, &json!({}));
    scene.broker.publish(&missing, &[Message::new("late")]);
    handler.wait_for_answered(2);
    program.wait_until_ready();
    assert_eq!(handler.answered()[1].route, "refunds");
    program.stop();
}

fn route(name: &str, source: &str, url: &str) -> String {
    format!(
        r#"
[[routes]]
name = "{name}"
broker = "main"
source = "{source}"
handler = {{ kind = "http", url = "{url}" }}
"#
    )
}

/// Why a route is not ready, as soon as it is for the reason that is looked for.
fn reason_when(program: &Program, route: &str, is_the_one: impl Fn(&str) -> bool) -> String {
    wait_until(&format!("route {route} says why it is not ready"), || {
        let (_, ready) = program.get("/readyz");
        let not_ready = ready["not_ready"].as_array()?.iter().find(|waiting| waiting["route"] == route)?;
        not_ready["reason"].as_str().filter(|reason| is_the_one(reason)).map(str::to_owned)
    })
}
