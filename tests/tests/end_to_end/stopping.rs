//! SIGTERM: what runs may finish, everything else goes back as it was.

use std::collections::{BTreeMap, BTreeSet};

use nix::sys::signal::Signal;
use serde_json::json;

use crate::support::{Message, Scene, answers, text, wait_until};

fn message(id: &str) -> Message {
    Message::new(id).with_header("tenant", text("blue"))
}

#[test]
fn sigterm_drains_without_counting_anything_as_failed() {
    let scene = Scene::new();
    let (orders, default) = (scene.queue("orders"), scene.name("dlq"));
    let gate = scene.path("gate");
    let slow = json!([{ "status": 200, "wait_for": gate }]);
    let handler = scene.handler(&BTreeMap::from([
        ("slow-1".to_owned(), slow.clone()),
        ("slow-2".to_owned(), slow),
        ("sleeping-1".to_owned(), answers(&[503])),
        ("sleeping-2".to_owned(), answers(&[503])),
    ]));
    let mut program = scene.program(&format!(
        r#"
[[routes]]
name = "orders"
broker = "main"
source = "{orders}"
handler = {{ kind = "http", url = "{url}", timeout = "60s" }}
concurrency = 4
dead_letters = {{ default = "{default}" }}
retry = {{ max_attempts = 3, initial_delay = "50s", max_delay = "50s" }}
"#,
        url = handler.url(),
    ));
    program.wait_until_ready();
    let in_work = ["slow-1", "slow-2", "sleeping-1", "sleeping-2"];
    let waiting = ["waiting-1", "waiting-2", "waiting-3"];
    scene.broker.publish(&orders, &in_work.map(message));
    handler.wait_for_asked(4);
    handler.wait_for_answered(2);
    // Every slot is taken: these are not begun.
    scene.broker.publish(&orders, &waiting.map(message));

    program.signal(Signal::SIGTERM);
    // The sleepers do not wait for the slow ones.
    scene.broker.wait_for_count(&orders, 5);
    assert_eq!(handler.answered().len(), 2, "the slow ones are still running");
    std::fs::write(gate, "").expect("a writable folder");
    assert_eq!(program.wait_for_end().code(), Some(0));

    let slow_ones = handler.answered().into_iter().filter(|event| event.status == Some(200));
    assert_eq!(slow_ones.map(|event| event.id).collect::<BTreeSet<_>>(), ids(&in_work[..2]));
    let mut left = scene.broker.take_all(&orders);
    left.sort_by_key(|message| message.id().to_owned());
    assert_eq!(left, ["sleeping-1", "sleeping-2", "waiting-1", "waiting-2", "waiting-3"].map(message));
    assert_eq!(handler.asked().len(), 4, "nothing was begun after the signal");
    assert_eq!(scene.broker.count(&default), 0);
}

#[test]
fn a_handler_that_outlasts_the_shutdown_has_not_failed() {
    let mut scene = Scene::new();
    scene.shutdown_timeout = "300ms";
    let (orders, default) = (scene.queue("orders"), scene.name("dlq"));
    let never = json!([{ "status": 200, "wait_for": scene.path("never") }]);
    let handler = scene.handler(&BTreeMap::from([("stuck".to_owned(), never)]));
    let mut program = scene.program(&format!(
        r#"
[[routes]]
name = "orders"
broker = "main"
source = "{orders}"
handler = {{ kind = "http", url = "{url}", timeout = "60s" }}
dead_letters = {{ default = "{default}" }}
"#,
        url = handler.url(),
    ));
    program.wait_until_ready();
    scene.broker.publish(&orders, &[message("stuck")]);
    handler.wait_for_asked(1);

    program.stop();
    assert_eq!(handler.answered().len(), 0);
    scene.broker.wait_for_count(&orders, 1);
    assert_eq!(scene.broker.take_all(&orders), [message("stuck")]);
    assert_eq!(scene.broker.count(&default), 0);
}

#[test]
fn a_second_signal_ends_the_host_at_once() {
    let mut scene = Scene::new();
    scene.shutdown_timeout = "1h";
    let (orders, default) = (scene.queue("orders"), scene.name("dlq"));
    let never = json!([{ "status": 200, "wait_for": scene.path("never") }]);
    let handler = scene.handler(&BTreeMap::from([("stuck".to_owned(), never)]));
    let mut program = scene.program(&format!(
        r#"
[[routes]]
name = "orders"
broker = "main"
source = "{orders}"
handler = {{ kind = "http", url = "{url}", timeout = "2h" }}
dead_letters = {{ default = "{default}" }}
"#,
        url = handler.url(),
    ));
    program.wait_until_ready();
    scene.broker.publish(&orders, &[message("stuck")]);
    handler.wait_for_asked(1);

    program.signal(Signal::SIGTERM);
    wait_until("it drains", || program.lines().iter().any(|line| line["message"] == "draining").then_some(()));
    program.signal(Signal::SIGTERM);
    assert_eq!(program.wait_for_end().code(), Some(1), "no orderly end");
    scene.broker.wait_for_count(&orders, 1);
    assert_eq!(scene.broker.take_all(&orders), [message("stuck")], "the same message, uncounted");
    assert_eq!(scene.broker.count(&default), 0);
}

#[test]
fn a_quorum_queue_counts_one_return_for_what_was_in_work_and_none_for_what_waited() {
    let scene = Scene::new();
    let orders = scene.queue_with("orders", &json!({ "x-queue-type": "quorum" }));
    let default = scene.name("dlq");
    let sleeping = ["sleeping-1", "sleeping-2"];
    let handler = scene.handler(&sleeping.map(|id| (id.to_owned(), answers(&[503]))).into());
    let mut program = scene.program(&format!(
        r#"
[[routes]]
name = "orders"
broker = "main"
source = "{orders}"
handler = {{ kind = "http", url = "{url}" }}
concurrency = 2
dead_letters = {{ default = "{default}" }}
retry = {{ max_attempts = 3, initial_delay = "50s", max_delay = "50s" }}
"#,
        url = handler.url(),
    ));
    program.wait_until_ready();
    scene.broker.publish(&orders, &sleeping.map(message));
    handler.wait_for_answered(2);
    let waiting = ["waiting-1", "waiting-2"];
    scene.broker.publish(&orders, &waiting.map(message));
    program.stop();

    scene.broker.wait_for_count(&orders, 4);
    let left = scene.broker.take_all(&orders);
    // As the quorum queue counts them, with 0 for what was never handed out.
    let handed_out = |message: &Message| message.headers["x-delivery-count"]["long"].as_u64().expect("a count");
    let counts: BTreeMap<&str, u64> = left.iter().map(|message| (message.id(), handed_out(message))).collect();
    let expected = [("sleeping-1", 1), ("sleeping-2", 1), ("waiting-1", 0), ("waiting-2", 0)];
    assert_eq!(counts, expected.into(), "{left:?}");
    assert!(left.iter().all(|message| message.attempts().is_none()), "none counts as failed: {left:?}");
}

fn ids(ids: &[&str]) -> BTreeSet<String> {
    ids.iter().map(|id| (*id).to_owned()).collect()
}

#[test]
fn sigterm_while_policies_are_loaded_is_an_orderly_end_too() {
    let scene = Scene::new();
    let orders = scene.queue("orders");
    let mut program = scene.program(&format!(
        r#"
[[routes]]
name = "orders"
broker = "main"
source = "{orders}"
handler = {{ kind = "http", url = "http://127.0.0.1:9/" }}
"#
    ));
    // It has said that it starts, and a policy takes far longer to compile than this signal.
    program.stop();
    let said: Vec<_> = program.lines().iter().map(|line| line["message"].clone()).collect();
    assert!(said.iter().any(|line| line.as_str().is_some_and(|line| line.starts_with("stopped"))), "{said:?}");
}
