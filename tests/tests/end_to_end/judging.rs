//! A consumer that knows nothing of Reprieve gets its policies.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Child;

use serde::Deserialize;
use serde_json::json;

use crate::support::{Message, Scene, json_lines, python, text};

/// A line of the consumer's account.
#[derive(Debug, Deserialize)]
struct Arrival {
    at: f64,
    id: String,
    arrival: u32,
    message: Message,
}

/// A plain consumer that rejects everything but what it is told to accept.
struct Consumer {
    process: Child,
    log: PathBuf,
}

impl Consumer {
    /// `accepted`: at which arrival it acknowledges which id.
    fn start(scene: &Scene, queue: &str, accepted: &BTreeMap<&str, u32>) -> Self {
        let log = scene.path("consumer.log");
        let process = python("rejecting_consumer.py")
            .args([&reprieve_tests::rabbitmq::url(), queue])
            .arg(&log)
            .arg(json!(accepted).to_string())
            .spawn()
            .expect("Python starts");
        Self { process, log }
    }

    /// The arrivals of each id, in order.
    fn arrivals(&self) -> BTreeMap<String, Vec<Arrival>> {
        let mut arrivals: BTreeMap<String, Vec<Arrival>> = BTreeMap::new();
        for arrival in json_lines::<Arrival>(&self.log) {
            arrivals.entry(arrival.id.clone()).or_default().push(arrival);
        }
        arrivals
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        self.process.kill().expect("a child that nobody waited for");
        self.process.wait().expect("a child that was killed");
    }
}

const TIER_MS: u64 = 300;
const ARRIVALS: usize = 3;

#[test]
fn judge_mode_gives_policies_to_a_consumer_that_only_rejects() {
    let scene = Scene::new();
    let (failed, parked, tier) = (scene.queue("failed"), scene.name("parked"), scene.tier(TIER_MS));
    let to_failed = json!({ "x-dead-letter-exchange": "", "x-dead-letter-routing-key": failed });
    let work = scene.queue_with("work", &to_failed);
    // Nobody consumes this one.
    let mut expiring = to_failed;
    expiring["x-message-ttl"] = 1.into();
    let idle = scene.queue_with("idle", &expiring);
    let mut program = scene.program(&format!(
        r#"
[[routes]]
name = "second-chances"
broker = "main"
source = "{failed}"
handler = {{ kind = "judge" }}
dead_letters = {{ default = "{parked}" }}

[routes.settings]
tiers = ["{tier}", "{tier}"]
"#
    ));
    program.wait_until_ready();
    let consumer = Consumer::start(&scene, &work, &BTreeMap::from([("heals-1", 2), ("heals-2", 3)]));

    let sent = |id: &str| Message::new(id).with("app_id", "shop").with_header("tenant", text("blue"));
    scene.broker.publish(&work, &["heals-1", "heals-2", "hopeless-1", "hopeless-2"].map(sent));
    scene.broker.publish(&idle, &[sent("late")]);
    scene.broker.wait_for_count(&parked, 3);
    program.stop();
    for queue in [&work, &failed, &idle, &Scene::tier_queue(&tier)] {
        assert_eq!(scene.broker.count(queue), 0, "left on {queue}");
    }

    let arrivals = consumer.arrivals();
    let count = |id: &str| arrivals.get(id).map_or(0, Vec::len);
    assert_eq!(
        ["heals-1", "heals-2", "hopeless-1", "hopeless-2", "late"].map(count),
        [2, 3, ARRIVALS, ARRIVALS, 0],
        "{arrivals:?}"
    );
    for pair in arrivals.values().flat_map(|arrivals| arrivals.windows(2)) {
        let [before, after] = pair else { unreachable!("windows of two") };
        assert!(after.at - before.at >= TIER_MS as f64 / 1000.0, "back too early: {before:?}, {after:?}");
        assert_eq!(after.message.attempts(), Some(before.arrival.into()), "{after:?}");
        assert_eq!(
            (&after.message.body, &after.message.properties),
            (&before.message.body, &before.message.properties)
        );
        assert_eq!(after.message.headers["tenant"], text("blue"));
    }

    let mut dead_letters: BTreeMap<String, Message> =
        scene.broker.take_all(&parked).into_iter().map(|message| (message.id().to_owned(), message)).collect();
    let late = dead_letters.remove("late").expect("what expired is parked");
    assert_eq!(late.text("reprieve-error-kind"), Some("expired"));
    assert_eq!(late.text("reprieve-origin-topic"), Some(&*idle));
    assert_eq!(late.text("reprieve-policy"), None, "no policy was asked");
    assert_eq!(dead_letters.keys().collect::<Vec<_>>(), ["hopeless-1", "hopeless-2"]);
    for (id, dead_letter) in dead_letters {
        assert_eq!(dead_letter.attempts(), Some(ARRIVALS as u64));
        assert_eq!(dead_letter.text("reprieve-error-kind"), Some("rejected"));
        assert_eq!(dead_letter.text("reprieve-origin-topic"), Some(&*work));
        assert!(dead_letter.text("reprieve-policy").is_some_and(|policy| policy.starts_with("standard@")));
        let expected = sent(&id);
        assert_eq!((dead_letter.body, dead_letter.properties), (expected.body, expected.properties));
        assert_eq!(dead_letter.headers["tenant"], text("blue"));
    }
}
