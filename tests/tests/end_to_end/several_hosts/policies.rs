//! Each host judges by its own policies folder.

use std::collections::BTreeMap;

use serde_json::json;

use super::{HOSTS, host_of, hosts_of, ids, start};
use crate::support::{Message, Scene, answer, committed_policy};

const EACH: usize = 60;

#[test]
fn a_policy_in_the_folder_of_one_host_changes_only_its_verdicts_until_the_others_have_it_too() {
    let scene = Scene::new();
    let (orders, default, invalid) = (scene.queue("orders"), scene.queue("dlq"), scene.queue("invalid"));
    let rounds = ["before", "one", "all"];
    let all = rounds.iter().flat_map(|round| ids(round, EACH));
    let handler = scene.handler(&all.map(|id| (id, json!([answer(422, "validation")]))).collect());
    for host in HOSTS {
        scene.host_folder(host);
        scene.install_on(host, "orders", &committed_policy("by-error-kind"));
    }
    let rest = format!(
        "concurrency = 2\nprefetch = 2\npolicy = \"orders\"\ndead_letters = {{ default = \"{default}\", invalid = \"{invalid}\" }}\n"
    );
    let programs = start(&scene, &orders, &handler, &rest);
    let first = programs[0].revision("orders");
    // The first policy parks what is invalid under its own label, the second does not know that label.
    let mut second = None;
    for (number, round) in rounds.into_iter().enumerate() {
        let swapped: &[usize] = [&[][..], &[1], &[0, 2]][number];
        for &host in swapped {
            scene.install_on(HOSTS[host], "orders", &committed_policy("standard"));
        }
        for &host in swapped {
            second = Some(programs[host].wait_for_another_revision("orders", &first));
        }
        let is_second = |host: &str| round == "all" || round == "one" && host == HOSTS[1];
        for (host, program) in HOSTS.iter().zip(&programs) {
            let expected = if is_second(host) { second.as_ref() } else { Some(&first) };
            assert_eq!(Some(&program.revision("orders")), expected, "{host} in round {round}");
        }

        let sent: Vec<Message> = ids(round, EACH).iter().map(|id| Message::new(id)).collect();
        scene.broker.publish(&orders, &sent);
        handler.wait_for_answered(EACH * (number + 1));
        let runs = handler.runs();
        let of_round: BTreeMap<&str, &str> = runs
            .iter()
            .filter(|(id, _)| id.starts_with(round))
            .map(|(id, runs)| (id.as_str(), host_of(&runs[0])))
            .collect();
        assert_eq!(
            hosts_of(runs.iter().filter(|(id, _)| id.starts_with(round)).flat_map(|(_, runs)| runs)),
            HOSTS.into()
        );
        let by_second = of_round.values().filter(|host| is_second(host)).count() as u64;
        scene.broker.wait_for_count(&default, by_second);
        scene.broker.wait_for_count(&invalid, EACH as u64 - by_second);
        for (queue, is_of_second) in [(&default, true), (&invalid, false)] {
            for dead in scene.broker.take_all(queue) {
                assert_eq!(is_second(of_round[dead.id()]), is_of_second, "{dead:?}");
                let judge = if is_of_second { second.as_deref() } else { Some(&*first) };
                assert_eq!(dead.text("reprieve-policy"), judge, "{dead:?}");
            }
        }
    }
    programs.into_iter().for_each(|mut program| program.stop());
}
