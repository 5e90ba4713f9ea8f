//! One of three hosts ends in the middle.

use std::collections::{BTreeMap, BTreeSet};

use nix::sys::signal::Signal;
use serde_json::json;

use super::{HOSTS, host_of, hosts_of, ids, start};
use crate::support::{Event, Handler, Message, Program, Scene, answers, wait_until};

const MESSAGES: usize = 150;
const SLOTS: usize = 4;

/// Messages of which every third is parked after its only attempt.
struct Work {
    scene: Scene,
    orders: String,
    letters: String,
    handler: Handler,
    hopeless: BTreeSet<String>,
}

impl Work {
    /// Messages whose handler waits for `gate` are those of these numbers.
    fn new(is_slow: impl Fn(usize) -> bool) -> Self {
        let scene = Scene::new();
        let (orders, letters) = (scene.queue("orders"), scene.queue("letters"));
        let ids = ids("m", MESSAGES);
        let script: BTreeMap<_, _> = ids
            .iter()
            .enumerate()
            .map(|(number, id)| {
                let status = if number % 3 == 0 { 422 } else { 200 };
                let answer = if is_slow(number) {
                    json!([{ "status": status, "wait_for": scene.path("gate") }])
                } else {
                    answers(&[status])
                };
                (id.clone(), answer)
            })
            .collect();
        let handler = scene.handler(&script);
        let hopeless = ids.iter().step_by(3).cloned().collect();
        scene.broker.publish(&orders, &ids.iter().map(|id| Message::new(id)).collect::<Vec<_>>());
        Self { scene, orders, letters, handler, hopeless }
    }

    fn rest(&self) -> String {
        format!("concurrency = {SLOTS}\nprefetch = {SLOTS}\ndead_letters = {{ default = \"{}\" }}\n", self.letters)
    }

    fn open_the_gate(&self) {
        std::fs::write(self.scene.path("gate"), "").expect("a writable folder");
    }

    /// Waits until each message has its outcome; gives the dead letters' ids.
    fn wait_for_outcomes(&self) -> Vec<String> {
        let mut dead = Vec::new();
        wait_until("every message has its outcome", || {
            dead.extend(self.scene.broker.take_all(&self.letters).iter().map(|message| message.id().to_owned()));
            let all_dead = dead.iter().cloned().collect::<BTreeSet<_>>() == self.hopeless;
            (all_dead && self.handler.runs().len() == MESSAGES).then_some(())
        });
        dead
    }
}

fn repeated(runs: &BTreeMap<String, Vec<Event>>, dead: &[String]) -> BTreeSet<String> {
    let mut once = BTreeSet::new();
    let parked_again = dead.iter().filter(|id| !once.insert(*id)).cloned();
    parked_again.chain(runs.iter().filter(|(_, runs)| runs.len() > 1).map(|(id, _)| id.clone())).collect()
}

#[test]
fn when_one_of_three_hosts_is_killed_nothing_is_lost_and_only_what_it_had_in_work_is_repeated() {
    // More slow ones than two hosts have slots for: each host sticks to one at last, so the kill finds work under way.
    let work = Work::new(|number| number >= MESSAGES / 2 && number % 5 == 0);
    let [mut killed, b, c] = start(&work.scene, &work.orders, &work.handler, &work.rest());
    let in_work = wait_until("the first host has a slow message in work", || {
        let answered: BTreeSet<String> = work.handler.answered().into_iter().map(|event| event.id).collect();
        let open = |event: &Event| host_of(event) == HOSTS[0] && !answered.contains(&event.id);
        let open: BTreeSet<String> = work.handler.asked().into_iter().filter(open).map(|event| event.id).collect();
        (!open.is_empty() && answered.len() > MESSAGES / 2).then_some(open)
    });
    killed.signal(Signal::SIGKILL);
    assert!(!killed.wait_for_end().success());
    let begun: BTreeSet<String> =
        work.handler.asked().into_iter().filter(|event| host_of(event) == HOSTS[0]).map(|event| event.id).collect();
    work.open_the_gate();

    let mut dead = work.wait_for_outcomes();
    // Also those that the killed host was waiting for are begun again.
    wait_until("the others took over", || {
        let asked = work.handler.asked();
        let again = |id: &String| asked.iter().any(|event| event.id == *id && host_of(event) != HOSTS[0]);
        in_work.iter().all(again).then_some(())
    });
    [b, c].into_iter().for_each(|mut program| program.stop());
    dead.extend(work.scene.broker.take_all(&work.letters).iter().map(|message| message.id().to_owned()));
    assert_eq!(work.scene.broker.count(&work.orders), 0);

    let runs = work.handler.runs();
    let repeated = repeated(&runs, &dead);
    assert!(repeated.is_subset(&begun), "the killed host had not begun them: {repeated:?}");
    assert!(repeated.len() <= SLOTS, "more than it had in work: {repeated:?}");
    assert!(in_work.is_subset(&repeated), "what it had in work is done again: {in_work:?}, {repeated:?}");
}

#[test]
fn when_one_of_three_hosts_is_told_to_stop_nothing_is_handled_twice() {
    let work = Work::new(|number| number >= MESSAGES / 2);
    let [mut stopped, b, c] = start(&work.scene, &work.orders, &work.handler, &work.rest());
    work.handler.wait_for_asked(MESSAGES / 2 + HOSTS.len() * SLOTS);
    // All its slots wait for the gate. It is told to stop before that opens.
    stopped.signal(Signal::SIGTERM);
    let phase = |program: &Program| program.get("/status").1["routes"][0]["phase"]["state"].clone();
    wait_until("it takes no more", || (phase(&stopped) == "draining").then_some(()));
    work.open_the_gate();
    assert_eq!(stopped.wait_for_end().code(), Some(0), "an orderly end");

    let mut dead = work.wait_for_outcomes();
    [b, c].into_iter().for_each(|mut program| program.stop());
    dead.extend(work.scene.broker.take_all(&work.letters).iter().map(|message| message.id().to_owned()));
    assert_eq!(work.scene.broker.count(&work.orders), 0);
    let runs = work.handler.runs();
    assert_eq!(repeated(&runs, &dead), BTreeSet::new());
    assert_eq!(hosts_of(runs.values().flatten()), HOSTS.into(), "each has its share");
}
