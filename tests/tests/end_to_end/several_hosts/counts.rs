//! Rule 9 across hosts.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::{HOSTS, host_of, hosts_of, ids, start};
use crate::support::{Event, Message, Scene, answer, answers, test_policy, text};

const MESSAGES: usize = 60;
const ATTEMPTS: usize = 4;

#[test]
fn a_message_that_fails_on_whichever_hosts_sees_each_attempt_once() {
    let scene = Scene::new();
    let (orders, letters, tier) = (scene.queue("orders"), scene.queue("letters"), scene.tier(300));
    // One half is handled at the last attempt that there is, the other half is parked after it.
    let (healed, hopeless) = (ids("heals", MESSAGES / 2), ids("hopeless", MESSAGES / 2));
    let script = healed.iter().map(|id| (id.clone(), answers(&[503, 503, 503, 200])));
    let handler = scene.handler(&script.chain(hopeless.iter().map(|id| (id.clone(), answers(&[503])))).collect());
    let rest = format!(
        r#"
concurrency = 4
dead_letters = {{ default = "{letters}" }}
settings = {{ tiers = {tiers} }}
"#,
        tiers = json!([tier, tier, tier]),
    );
    let programs = start(&scene, &orders, &handler, &rest);
    let all: Vec<Message> = healed.iter().chain(&hopeless).map(|id| Message::new(id)).collect();
    scene.broker.publish(&orders, &all);

    handler.wait_for_answered(MESSAGES * ATTEMPTS);
    scene.broker.wait_for_count(&letters, hopeless.len() as u64);
    programs.into_iter().for_each(|mut program| program.stop());
    for queue in [&orders, &Scene::tier_queue(&tier)] {
        assert_eq!(scene.broker.count(queue), 0, "left on {queue}");
    }

    let runs = handler.runs();
    assert_eq!(runs.len(), MESSAGES);
    for (id, runs) in &runs {
        let attempts: Vec<u32> = runs.iter().map(|run| run.attempt).collect();
        assert_eq!(attempts, [1, 2, 3, 4], "{id}: {runs:?}");
    }
    assert_eq!(hosts_of(runs.values().flatten()), HOSTS.into(), "each has its share");
    assert!(runs.values().any(|runs| hosts_of(runs).len() > 1), "no message went from host to host");
    let dead = scene.broker.take_all(&letters);
    assert_eq!(
        dead.iter().map(|message| message.id().to_owned()).collect::<BTreeSet<_>>(),
        hopeless.into_iter().collect()
    );
    assert!(dead.iter().all(|message| message.attempts() == Some(ATTEMPTS as u64)), "{dead:?}");
}

#[test]
fn a_requeue_that_goes_from_host_to_host_counts_from_the_header_what_each_host_knows() {
    const NOTED: u32 = 2;
    const REQUEUES: usize = 6;
    let scene = Scene::new();
    let orders = scene.queue("orders");
    let ids = ids("m", 6);
    let mut script = vec![answer(500, "requeue"); REQUEUES];
    script.push(answer(200, ""));
    let handler = scene.handler(&ids.iter().map(|id| (id.clone(), json!(script))).collect());
    for host in HOSTS {
        scene.host_folder(host);
        scene.install_on(host, "as-told", &test_policy("misbehaving"));
    }
    let rest = r#"
concurrency = 6
policy = "as-told"
requeue = { cooldown = "20ms", max_cooldown = "40ms" }
"#;
    let programs = start(&scene, &orders, &handler, rest);
    // Copies that this route made after their second attempt.
    let copies: Vec<Message> = ids
        .iter()
        .map(|id| Message::new(id).with_header("reprieve-route", text("orders")))
        .map(|message| message.with_header("reprieve-attempts", json!({ "int": NOTED })))
        .collect();
    scene.broker.publish(&orders, &copies);
    handler.wait_for_answered(ids.len() * (REQUEUES + 1));
    programs.into_iter().for_each(|mut program| program.stop());
    assert_eq!(scene.broker.count(&orders), 0);

    let runs = handler.runs();
    for (id, runs) in &runs {
        assert_eq!(runs.len(), REQUEUES + 1, "{id}: {runs:?}");
        let mut of_hosts: BTreeMap<&str, Vec<&Event>> = BTreeMap::new();
        runs.iter().for_each(|run| of_hosts.entry(host_of(run)).or_default().push(run));
        for (host, runs) in of_hosts {
            let attempts: Vec<u32> = runs.iter().map(|run| run.attempt).collect();
            let known: Vec<u32> = (NOTED + 1..).take(runs.len()).collect();
            assert_eq!(attempts, known, "{id} on {host}: what the header says and what this host has begun");
        }
    }
    assert!(runs.values().any(|runs| hosts_of(runs).len() > 1), "no message went from host to host");
}
