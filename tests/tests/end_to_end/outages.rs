//! A dead-letter queue that is gone for a while.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::support::{Message, Program, Scene, answers, wait_until};

#[test]
fn while_dead_letters_cannot_be_published_intake_rests_and_says_why_and_goes_on_by_itself() {
    let scene = Scene::new();
    let (orders, letters) = (scene.queue("orders"), scene.queue("letters"));
    let handler =
        scene.handler(&BTreeMap::from([("fails".to_owned(), answers(&[503])), ("waits".to_owned(), answers(&[200]))]));
    let mut program = scene.program(&format!(
        r#"
[[routes]]
name = "orders"
broker = "main"
source = "{orders}"
handler = {{ kind = "http", url = "{url}" }}
concurrency = 1
dead_letters = {{ default = "{letters}" }}
"#,
        url = handler.url(),
    ));
    program.wait_until_ready();
    scene.broker.delete([letters.as_str()]).expect("a queue that can be deleted");
    scene.broker.publish(&orders, &["fails", "waits"].map(Message::new));

    let reason = wait_until("it says why it takes no messages", || {
        let (status, ready) = program.get("/readyz");
        let reason = ready["not_ready"][0]["reason"].as_str()?.to_owned();
        (status == 503).then_some(reason)
    });
    assert!(reason.contains("intake is paused") && reason.contains(&letters), "{reason}");
    let pause = &paused(&program)[0];
    assert_eq!(pause["because"], "outage");
    assert!(pause["why"].as_str().expect("a text").contains("declare the queue"), "{pause}");
    assert_eq!(metric(&program, "held"), "1");
    assert_eq!(metric(&program, "intake_paused"), "1", "also while every slot is held");
    assert_eq!(handler.asked().len(), 1, "what waits is not begun");

    scene.broker.declare(&letters, &json!({}));
    handler.wait_for_answered(2);
    scene.broker.wait_for_count(&letters, 1);
    program.wait_until_ready();
    assert_eq!(paused(&program), Vec::<Value>::new());
    assert_eq!((metric(&program, "held"), metric(&program, "intake_paused")), ("0".to_owned(), "0".to_owned()));
    program.stop();
    assert_eq!(scene.broker.count(&orders), 0);
    assert_eq!(handler.asked().len(), 2, "the failure was not handled again for it");
}

fn paused(program: &Program) -> Vec<Value> {
    let (_, status) = program.get("/status");
    status["routes"][0]["intake_paused"].as_array().expect("a list of pauses").clone()
}

fn metric(program: &Program, name: &str) -> String {
    let (_, metrics) = program.get("/metrics");
    let metrics = metrics.as_str().expect("a text").to_owned();
    let line = metrics.lines().find(|line| line.starts_with(&format!("reprieve_{name}{{")));
    line.and_then(|line| line.rsplit(' ').next()).expect("a metric of this name").to_owned()
}
