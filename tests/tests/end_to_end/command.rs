//! A program that is started for each message.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::support::{Message, Scene, committed_policy, json_lines, python, text, wait_until};

#[test]
fn a_command_handler_end_to_end() {
    let scene = Scene::new();
    let (orders, default, invalid) = (scene.queue("orders"), scene.name("dlq"), scene.name("invalid"));
    let log = scene.path("command.log");
    scene.install("by-error-kind", &committed_policy("by-error-kind"));
    let command = python("command.py");
    let program = [command.get_program()].into_iter().chain(command.get_args()).chain([log.as_os_str()]);
    let program: Vec<&str> = program.map(|part| part.to_str().expect("UTF-8")).collect();
    let mut program = scene.program(&format!(
        r#"
[[routes]]
name = "orders"
broker = "main"
source = "{orders}"
handler = {{ kind = "command", program = {program} }}
policy = "by-error-kind"
dead_letters = {{ default = "{default}", invalid = "{invalid}" }}
retry = {{ max_attempts = 2, initial_delay = "10ms" }}
"#,
        program = json!(program),
    ));
    program.wait_until_ready();
    let complaint = "Traceback ...\nreprieve-error-kind: validation\nthe order has no customer\n";
    let message = |id: &str, endings: Value| Message {
        body: endings.to_string(),
        ..Message::new(id).with("content_type", "application/json")
    };
    scene.broker.publish(
        &orders,
        &[
            message("succeeds", json!([{ "exit": 0 }])),
            message("succeeds-again", json!([{ "exit": 7 }, { "exit": 0 }])),
            message("fails", json!([{ "exit": 7 }])),
            message("invalid", json!([{ "exit": 1, "stderr": complaint }])),
        ],
    );
    let runs = || -> BTreeMap<String, Vec<Value>> {
        let mut runs: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for told in json_lines::<Value>(&log) {
            runs.entry(told["REPRIEVE_ID"].as_str().expect("an id").to_owned()).or_default().push(told);
        }
        runs
    };
    wait_until("six runs", || (runs().values().map(Vec::len).sum::<usize>() >= 6).then_some(()));
    scene.broker.wait_for_count(&default, 1);
    scene.broker.wait_for_count(&invalid, 1);
    program.stop();
    assert_eq!(scene.broker.count(&orders), 0);

    let runs = runs();
    let count = |id: &str| runs.get(id).map_or(0, Vec::len);
    assert_eq!(["succeeds", "succeeds-again", "fails", "invalid"].map(count), [1, 2, 2, 1]);
    for (number, told) in runs["succeeds-again"].iter().enumerate() {
        assert_eq!(
            *told,
            json!({
                "REPRIEVE_ID": "succeeds-again",
                "REPRIEVE_ATTEMPT": (number + 1).to_string(),
                "REPRIEVE_ROUTE": "orders",
                "REPRIEVE_REDELIVERED": "false",
                "REPRIEVE_CONTENT_TYPE": "application/json",
            })
        );
    }

    let [fails] = &scene.broker.take_all(&default)[..] else { panic!("one dead letter") };
    assert_eq!((fails.id(), fails.attempts()), ("fails", Some(2)));
    assert_eq!(fails.headers["reprieve-error-kind"], text("exit-7"));
    let [is_invalid] = &scene.broker.take_all(&invalid)[..] else { panic!("one dead letter") };
    assert_eq!((is_invalid.id(), is_invalid.attempts()), ("invalid", Some(1)));
    assert_eq!(is_invalid.headers["reprieve-error-kind"], text("validation"));
    assert_eq!(is_invalid.headers["reprieve-error"], text("the order has no customer"));
}
