//! What becomes of each message, as it was scripted beforehand.

mod full_message;

use std::collections::{BTreeMap, BTreeSet};

use full_message::full_message;
use serde_json::{Value, json};

use crate::support::{Event, Message, Scene, answer, answers, committed_policy, test_policy, text};

/// Messages of each kind.
const OF_EACH: usize = 8;
const TIER_MS: u64 = 400;

/// What should become of messages of one kind.
struct Fate {
    name: &'static str,
    route: &'static str,
    /// The handler's answers, run by run.
    answers: Value,
    /// Which runs came out of the tier.
    delayed_runs: &'static [u32],
    /// Which runs the broker called a redelivery.
    redelivered_runs: &'static [u32],
    /// The dead-letter queue that the message ends in.
    parked: Option<&'static str>,
}

impl Fate {
    fn new(name: &'static str, answers: Value) -> Self {
        Self { name, route: "orders", answers, delayed_runs: &[], redelivered_runs: &[], parked: None }
    }

    fn ids(&self) -> impl Iterator<Item = String> + use<> {
        let name = self.name;
        (0..OF_EACH).map(move |number| format!("{name}-{number}"))
    }

    fn runs(&self) -> usize {
        self.answers.as_array().expect("answers").len()
    }
}

/// Every outcome, by two policies.
fn fates() -> Vec<Fate> {
    let limited = json!([answer(429, "rate-limit"), answer(200, "")]);
    let timed_out = json!([answer(504, "timeout"), answer(504, "timeout"), answer(200, "")]);
    vec![
        Fate::new("succeeds-at-once", answers(&[200])),
        Fate::new("succeeds-at-attempt-3", answers(&[503, 500, 200])),
        Fate::new("times-out-twice", timed_out),
        Fate { delayed_runs: &[2], ..Fate::new("is-delayed", limited) },
        Fate {
            delayed_runs: &[4],
            parked: Some("default"),
            ..Fate::new("is-never-handled", answers(&[500, 500, 500, 500]))
        },
        Fate { parked: Some("invalid"), ..Fate::new("is-invalid", json!([answer(422, "validation")])) },
        Fate::new("is-dropped", json!([answer(409, "duplicate")])),
        Fate {
            route: "urgent",
            redelivered_runs: &[2],
            ..Fate::new("is-requeued", json!([answer(500, "requeue"), answer(200, "")]))
        },
    ]
}

#[test]
fn the_outcome_of_each_message_is_as_scripted() {
    let scene = Scene::new();
    let (orders, urgent) = (scene.queue_with("orders", &json!({ "x-queue-type": "quorum" })), scene.queue("urgent"));
    let parked = BTreeMap::from([("default", scene.name("dlq")), ("invalid", scene.name("invalid"))]);
    let tier = scene.tier(TIER_MS);
    scene.install("by-error-kind", &committed_policy("by-error-kind"));
    scene.install("as-told", &test_policy("misbehaving"));
    let fates = fates();
    let script = fates.iter().flat_map(|fate| fate.ids().map(|id| (id, fate.answers.clone()))).collect();
    let handler = scene.handler(&script);
    let mut program = scene.program(&format!(
        r#"
[[routes]]
name = "orders"
broker = "main"
source = "{orders}"
handler = {{ kind = "http", url = "{url}" }}
concurrency = 8
policy = "by-error-kind"
dead_letters = {{ default = "{default}", invalid = "{invalid}" }}

[routes.retry]
max_attempts = 3
initial_delay = "30ms"

[routes.settings]
timeout_wait = "30ms"
delay = "100ms"          # rounded up to the tier

[routes.settings.standard]
tiers = ["{tier}"]
rules = [{{ kinds = ["duplicate"], retry = {{ max_attempts = 1 }}, tiers = [], exhausted = "drop" }}]

[[routes]]
name = "urgent"
broker = "main"
source = "{urgent}"
handler = {{ kind = "http", url = "{url}" }}
policy = "as-told"
dead_letters = {{ default = "{default}" }}
requeue = {{ cooldown = "50ms" }}
"#,
        url = handler.url(),
        default = parked["default"],
        invalid = parked["invalid"],
    ));
    program.wait_until_ready();

    let queue_of = |fate: &Fate| if fate.route == "orders" { &orders } else { &urgent };
    for fate in &fates {
        let messages: Vec<Message> = fate.ids().map(|id| full_message(&id)).collect();
        scene.broker.publish(queue_of(fate), &messages);
    }
    handler.wait_for_answered(fates.iter().map(|fate| fate.runs() * OF_EACH).sum());
    for (label, queue) in &parked {
        let expected = fates.iter().filter(|fate| fate.parked == Some(label)).count() * OF_EACH;
        scene.broker.wait_for_count(queue, expected as u64);
    }
    // What was not acknowledged goes back to its queue now.
    program.stop();
    for queue in [&orders, &urgent, &Scene::tier_queue(&tier)] {
        assert_eq!(scene.broker.take_all(queue), [], "left on {queue}");
    }

    let mut runs = handler.runs();
    for fate in &fates {
        for id in fate.ids() {
            check_runs(fate, &runs.remove(&id).unwrap_or_default());
        }
    }
    assert!(runs.is_empty(), "nobody sent these: {runs:?}");

    for (label, queue) in &parked {
        let dead_letters = scene.broker.take_all(queue);
        let ending_here = |fate: &&Fate| fate.parked == Some(label);
        let expected: BTreeSet<String> = fates.iter().filter(ending_here).flat_map(Fate::ids).collect();
        let found: Vec<&str> = dead_letters.iter().map(Message::id).collect();
        assert_eq!(found.iter().copied().map(str::to_owned).collect::<BTreeSet<_>>(), expected, "in {label}");
        assert_eq!(found.len(), expected.len(), "each once in {label}: {found:?}");
        for dead_letter in &dead_letters {
            let fate = fates.iter().find(|fate| fate.ids().any(|id| id == dead_letter.id())).expect("a known id");
            check_dead_letter(fate, dead_letter, queue_of(fate));
        }
    }
}

/// The handler saw what was scripted, and was told the truth about it.
fn check_runs(fate: &Fate, runs: &[Event]) {
    let scripted: Vec<_> = fate.answers.as_array().expect("answers").iter().map(|answer| &answer["status"]).collect();
    let seen: Vec<_> = runs.iter().map(|run| json!(run.status)).collect();
    assert_eq!(seen.iter().collect::<Vec<_>>(), scripted, "{runs:?}");
    for (run, number) in runs.iter().zip(1..) {
        assert_eq!((run.attempt, run.route.as_str()), (number, fate.route), "{run:?}");
        assert_eq!(run.redelivered, fate.redelivered_runs.contains(&number), "{run:?}");
        assert_eq!(run.tier.is_some(), fate.delayed_runs.contains(&number), "{run:?}");
        assert_eq!(run.body, full_message(&run.id).body);
    }
    for number in fate.delayed_runs {
        let [before, after] = [number - 1, *number].map(|number| runs[number as usize - 1].at);
        assert!(after - before >= TIER_MS as f64 / 1000.0, "back too early: {runs:?}");
    }
}

/// The dead letter is the message as it was sent, and says what happened to it.
fn check_dead_letter(fate: &Fate, dead_letter: &Message, source: &str) {
    let sent = full_message(dead_letter.id());
    assert_eq!(dead_letter.body, sent.body);

    let mut properties = sent.properties.clone();
    // Dead letters outlive a restart and stay until somebody takes them; and they are published under our own login.
    properties.insert("delivery_mode".to_owned(), 2.into());
    properties.remove("expiration");
    properties.remove("user_id");
    assert_eq!(dead_letter.properties, properties);

    let mut headers = dead_letter.headers.clone();
    // The dead-letter queue itself adds this one when it hands the message out.
    headers.remove("x-delivery-count");
    let (ours, theirs): (BTreeMap<_, _>, BTreeMap<_, _>) =
        headers.into_iter().partition(|(name, _)| name.starts_with("reprieve-"));
    assert_eq!(theirs, sent.headers);

    let last = fate.answers.as_array().and_then(|answers| answers.last()).expect("an answer");
    let kind = last["kind"].as_str().map_or_else(|| format!("http-{}", last["status"]), str::to_owned);
    assert_eq!(dead_letter.attempts(), Some(fate.runs() as u64));
    assert_eq!(ours["reprieve-route"], text(fate.route));
    assert_eq!(ours["reprieve-origin-topic"], text(source));
    assert_eq!(ours["reprieve-origin-exchange"], text(""));
    assert_eq!(ours["reprieve-origin-routing-key"], text(source));
    assert_eq!(ours["reprieve-error-kind"], text(&kind));
    assert_eq!(ours["reprieve-expiration"], text("600000"));
    assert_eq!(ours["reprieve-user-id"], json!({ "text": sent.properties["user_id"] }));
    let policy = dead_letter.text("reprieve-policy").expect("who decided");
    assert!(policy.starts_with("by-error-kind@"), "{policy}");
    for header in ["error", "reason", "first-failed-at", "failed-at", "expires-at", "origin-timestamp"] {
        let value = dead_letter.text(&format!("reprieve-{header}"));
        assert!(value.is_some_and(|value| !value.is_empty()), "reprieve-{header} of {dead_letter:?}");
    }
}
