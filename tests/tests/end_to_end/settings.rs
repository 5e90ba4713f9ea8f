//! SIGHUP: settings without a restart.

use nix::sys::signal::Signal;
use serde_json::json;

use crate::support::{Message, Scene, answer, wait_until};

#[test]
fn sighup_takes_new_settings() {
    let scene = Scene::new();
    let (orders, default, invalid) = (scene.queue("orders"), scene.name("dlq"), scene.name("invalid"));
    let ids = ["before", "after", "still"];
    let handler = scene.handler(&ids.map(|id| (id.to_owned(), json!([answer(422, "validation")]))).into());
    let url = reprieve_tests::rabbitmq::url();
    let routes = |settings: &str| {
        format!(
            r#"
[[routes]]
name = "orders"
broker = "main"
source = "{orders}"
handler = {{ kind = "http", url = "{url}" }}
dead_letters = {{ default = "{default}", invalid = "{invalid}" }}
settings = {settings}
"#,
            url = handler.url(),
        )
    };
    let program = scene.program(&routes("{}"));
    program.wait_until_ready();
    scene.broker.publish(&orders, &[Message::new("before")]);
    scene.broker.wait_for_count(&default, 1);

    let first = program.revision("orders");
    scene.configure(&url, &routes(r#"{ exhausted = { dead-letter-to = "invalid" } }"#));
    program.signal(Signal::SIGHUP);
    let second = program.wait_for_another_revision("orders", &first);
    scene.broker.publish(&orders, &[Message::new("after")]);
    scene.broker.wait_for_count(&invalid, 1);

    // A mistake changes nothing, and the log names its place.
    scene.configure(&url, &routes(r#"{ exhausted = "dead-letter" }, and = 5"#));
    program.signal(Signal::SIGHUP);
    wait_until("the mistake is named", || {
        let mut lines = program.lines().into_iter();
        lines.find(|line| {
            line["level"] == "WARN" && line["message"].as_str().is_some_and(|text| text.contains("reprieve.toml:"))
        })
    });
    assert_eq!(program.revision("orders"), second);
    scene.broker.publish(&orders, &[Message::new("still")]);
    scene.broker.wait_for_count(&invalid, 2);

    assert_eq!(scene.broker.count(&default), 1);
    assert_eq!(handler.asked().len(), 3);
}
