//! Many messages with different fates, and what must have become of them whatever happened in between.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::support::{Handler, Message, Scene, answers, wait_until};

/// Messages that the program works on at a time.
pub(crate) const SLOTS: usize = 8;

/// A third of the messages each: handled at once, handled at the second attempt, parked after two.
pub(crate) struct Flow {
    scene: Scene,
    pub(crate) orders: String,
    default: String,
    pub(crate) handler: Handler,
    /// How many runs each id takes, and whether it is parked then.
    fates: BTreeMap<String, Fate>,
}

#[derive(Clone, Copy)]
struct Fate {
    runs: usize,
    is_parked: bool,
}

impl Fate {
    fn of(number: usize) -> Self {
        match number % 3 {
            0 => Self { runs: 1, is_parked: false },
            1 => Self { runs: 2, is_parked: false },
            _ => Self { runs: 2, is_parked: true },
        }
    }

    fn answers(self) -> Value {
        match (self.runs, self.is_parked) {
            (1, _) => answers(&[200]),
            (_, false) => answers(&[503, 200]),
            (_, true) => answers(&[503]),
        }
    }
}

impl Flow {
    /// Publishes this many messages, for nobody yet.
    pub(crate) fn new(messages: usize) -> Self {
        let scene = Scene::new();
        let (orders, default) = (scene.queue("orders"), scene.name("dlq"));
        let fates: BTreeMap<String, Fate> =
            (0..messages).map(|number| (format!("m-{number:03}"), Fate::of(number))).collect();
        let handler = scene.handler(&fates.iter().map(|(id, fate)| (id.clone(), fate.answers())).collect());
        scene.broker.publish(&orders, &fates.keys().map(|id| Message::new(id)).collect::<Vec<_>>());
        Self { scene, orders, default, handler, fates }
    }

    pub(crate) fn scene(&self) -> &Scene {
        &self.scene
    }

    /// The route for them.
    pub(crate) fn route(&self) -> String {
        format!(
            r#"
[[routes]]
name = "orders"
broker = "main"
source = "{}"
handler = {{ kind = "http", url = "{}" }}
concurrency = {SLOTS}
dead_letters = {{ default = "{}" }}
retry = {{ max_attempts = 2, initial_delay = "5ms" }}
"#,
            self.orders,
            self.handler.url(),
            self.default,
        )
    }

    /// Waits until every message has the outcome that it should have; gives the dead letters.
    pub(crate) fn wait_for_outcomes(&self) -> Vec<String> {
        let ids = |is_parked| {
            let of_these = self.fates.iter().filter(move |(_, fate)| fate.is_parked == is_parked);
            of_these.map(|(id, _)| id.clone()).collect::<BTreeSet<_>>()
        };
        let (parked, handled) = (ids(true), ids(false));
        let mut dead_letters = Vec::new();
        wait_until("every message has its outcome", || {
            dead_letters.extend(self.take_dead_letters());
            let done = self.handler.answered().into_iter().filter(|event| event.status == Some(200));
            let done: BTreeSet<String> = done.map(|event| event.id).collect();
            (done == handled && dead_letters.iter().cloned().collect::<BTreeSet<_>>() == parked).then_some(())
        });
        dead_letters
    }

    /// The ids of the dead letters that are there.
    pub(crate) fn take_dead_letters(&self) -> Vec<String> {
        // The program declares the queue, so it need not be there yet.
        let found = self.scene.broker.take_all(&self.default);
        found.iter().map(|message| message.id().to_owned()).collect()
    }

    /// The ids that took more runs than they should, or are parked more than once.
    pub(crate) fn repeated(&self, dead_letters: &[String]) -> BTreeSet<String> {
        let mut parked_once = BTreeSet::new();
        let parked_again = dead_letters.iter().filter(|id| !parked_once.insert(*id)).cloned();
        let runs = self.handler.runs();
        let run_again = runs.iter().filter(|(id, runs)| runs.len() > self.fates[*id].runs).map(|(id, _)| id.clone());
        parked_again.chain(run_again).collect()
    }
}
