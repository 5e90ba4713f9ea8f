//! Another policy, while messages flow.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::{Message, Program, Scene, answer, committed_policy, wait_until};

const MESSAGES: usize = 1000;
const BATCH: usize = 10;
/// One in so many is invalid.
const INVALID: usize = 5;

fn id(number: usize) -> String {
    let fate = if number.is_multiple_of(INVALID) { "invalid" } else { "fine" };
    format!("{fate}-{number}")
}

fn publish(scene: &Scene, queue: &str, numbers: std::ops::Range<usize>) {
    scene.broker.publish(queue, &numbers.map(|number| Message::new(&id(number))).collect::<Vec<_>>());
}

#[test]
fn a_policy_renamed_into_the_folder_judges_later_failures_while_messages_flow() {
    let scene = Scene::new();
    let (orders, default, invalid) = (scene.queue("orders"), scene.name("dlq"), scene.name("invalid"));
    scene.install("orders", &committed_policy("by-error-kind"));
    let fate = |number: usize| if number.is_multiple_of(INVALID) { answer(422, "validation") } else { answer(200, "") };
    let script = (0..MESSAGES + 100).map(|number| (id(number), json!([fate(number)]))).collect();
    let handler = scene.handler(&script);
    let mut program = scene.program(&format!(
        r#"
[[routes]]
name = "orders"
broker = "main"
source = "{orders}"
handler = {{ kind = "http", url = "{url}" }}
concurrency = 8
policy = "orders"
dead_letters = {{ default = "{default}", invalid = "{invalid}" }}
"#,
        url = handler.url(),
    ));
    program.wait_until_ready();
    let first = program.revision("orders");

    // The first policy parks what is invalid under its own label, the second does not know that label.
    publish(&scene, &orders, 0..MESSAGES / 2);
    wait_until("the first policy judges", || (scene.broker.count(&invalid) >= 20).then_some(()));
    let before = handler.asked().len();
    scene.install("orders", &committed_policy("standard"));
    // They go on coming while it is loaded, and some are kept for afterwards.
    let mut sent = MESSAGES / 2;
    let second = wait_until("the second policy is live", || {
        if sent < MESSAGES - 200 {
            publish(&scene, &orders, sent..sent + BATCH);
            sent += BATCH;
        }
        Some(program.revision("orders")).filter(|now| *now != first)
    });
    assert!(handler.asked().len() > before, "messages went on flowing");
    publish(&scene, &orders, sent..MESSAGES);
    handler.wait_for_answered(MESSAGES);
    let failing = (MESSAGES / INVALID) as u64;
    wait_until("every failure is parked", || {
        (scene.broker.count(&default) + scene.broker.count(&invalid) == failing).then_some(())
    });
    let (by_first, by_second) = (scene.broker.take_all(&invalid), scene.broker.take_all(&default));

    // None was lost, and none handled or parked twice.
    let once: Vec<String> = handler.asked().into_iter().map(|event| event.id).collect();
    assert_eq!((once.len(), unique(&once)), (MESSAGES, (0..MESSAGES).map(id).collect()));
    let parked: Vec<String> = by_first.iter().chain(&by_second).map(|message| message.id().to_owned()).collect();
    assert_eq!(unique(&parked), (0..MESSAGES).step_by(INVALID).map(id).collect());

    // Each policy's dead letters say who judged them, and what came after the swap was judged by the second.
    assert!(by_first.iter().all(|message| message.text("reprieve-policy") == Some(&first)), "{by_first:?}");
    assert!(by_second.iter().all(|message| message.text("reprieve-policy") == Some(&second)), "{by_second:?}");
    let judged_by_second: BTreeSet<&str> = by_second.iter().map(Message::id).collect();
    let missing: Vec<_> = (sent..MESSAGES).step_by(INVALID).map(id).collect();
    assert!(!missing.is_empty() && missing.iter().all(|id| judged_by_second.contains(id.as_str())), "{missing:?}");

    program.stop();
    assert_eq!(scene.broker.count(&orders), 0);
}

fn unique(ids: &[String]) -> BTreeSet<String> {
    ids.iter().cloned().collect()
}

#[test]
fn a_broken_file_leaves_the_last_good_policy_live_and_the_status_says_so() {
    let scene = Scene::new();
    let (orders, default, invalid) = (scene.queue("orders"), scene.name("dlq"), scene.name("invalid"));
    scene.install("orders", &committed_policy("by-error-kind"));
    let handler =
        scene.handler(&(0..3).map(|number| (id(number * INVALID), json!([answer(422, "validation")]))).collect());
    let routes = format!(
        r#"
[[routes]]
name = "orders"
broker = "main"
source = "{orders}"
handler = {{ kind = "http", url = "{url}" }}
policy = "orders"
dead_letters = {{ default = "{default}", invalid = "{invalid}" }}
"#,
        url = handler.url(),
    );
    let mut program = scene.program(&routes);
    program.wait_until_ready();
    let good = program.revision("orders");

    scene.install("orders", b"\0asm and then nothing that makes sense");
    let error = wait_until("the broken file is noticed", || error(&program));
    assert!(error.contains("policies/orders.wasm: "), "{error}");
    assert_eq!(program.revision("orders"), good);
    publish(&scene, &orders, 0..1);
    scene.broker.wait_for_count(&invalid, 1);

    // Also after a restart, with the broken file still there.
    program.stop();
    let program = scene.program(&routes);
    program.wait_until_ready();
    assert_eq!(
        (program.revision("orders"), program.policy("orders")["source"].as_str()),
        (good.clone(), Some("last-good"))
    );
    publish(&scene, &orders, INVALID..INVALID + 1);
    scene.broker.wait_for_count(&invalid, 2);

    // Until a good one comes.
    scene.install("orders", &committed_policy("standard"));
    program.wait_for_another_revision("orders", &good);
    assert_eq!(self::error(&program), None);
    publish(&scene, &orders, 2 * INVALID..2 * INVALID + 1);
    scene.broker.wait_for_count(&default, 1);
    let judges: BTreeSet<_> = scene
        .broker
        .take_all(&invalid)
        .iter()
        .map(|message| message.text("reprieve-policy").map(str::to_owned))
        .collect();
    assert_eq!(judges, BTreeSet::from([Some(good)]));
}

fn error(program: &Program) -> Option<String> {
    match &program.policy("orders")["last_error"] {
        Value::Null => None,
        error => Some(error["text"].as_str().expect("what is wrong").to_owned()),
    }
}
