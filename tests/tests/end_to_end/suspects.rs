//! A message that ends the host each time it is handled.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::{Message, Scene};

/// As it stands in the configuration.
const MAX_INTERRUPTIONS: usize = 2;
const KILLER: &str = "m4";

#[test]
fn a_message_that_ends_the_host_again_and_again_is_dead_lettered_and_its_neighbours_are_not() {
    let scene = Scene::new();
    let (orders, letters) = (scene.queue_with("orders", &json!({ "x-queue-type": "quorum" })), scene.queue("letters"));
    let handled = scene.path("handled");
    let script = format!(
        r#"if [ "$REPRIEVE_ID" = {KILLER} ]; then kill -9 $PPID; exit 1; fi; echo $REPRIEVE_ID >> {}"#,
        handled.display()
    );
    // The policy would go on for ever.
    let routes = format!(
        r#"
[[routes]]
name = "orders"
broker = "main"
source = "{orders}"
handler = {{ kind = "command", program = {program} }}
concurrency = 4
dead_letters = {{ default = "{letters}" }}
retry = {{ max_attempts = 1000, initial_delay = "10ms" }}
max_interruptions = {MAX_INTERRUPTIONS}
"#,
        program = json!(["sh", "-c", script]),
    );
    let ids: Vec<String> = (0..8).map(|number| format!("m{number}")).collect();
    scene.broker.publish(&orders, &ids.iter().map(|id| Message::new(id)).collect::<Vec<_>>());

    let begun = Instant::now();
    let mut kills = 0;
    let mut program = scene.program(&routes);
    let lines = || -> Vec<String> {
        std::fs::read_to_string(&handled).unwrap_or_default().lines().map(str::to_owned).collect()
    };
    while !(ids.iter().all(|id| id == KILLER || lines().contains(id)) && scene.broker.count(&letters) == 1) {
        assert!(begun.elapsed() < Duration::from_secs(60), "{kills} kills, handled: {:?}", lines());
        if program.has_ended() {
            kills += 1;
            assert!(kills <= 1 + MAX_INTERRUPTIONS, "it is not told from its neighbours");
            program = scene.program(&routes);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    program.stop();

    // Once unsuspected beside others, then alone until it is enough.
    assert_eq!(kills, 1 + MAX_INTERRUPTIONS);
    let dead = scene.broker.take_all(&letters);
    assert_eq!(dead.iter().map(Message::id).collect::<Vec<_>>(), [KILLER]);
    assert_eq!(dead[0].text("reprieve-error-kind"), Some("interrupted"));
    assert_eq!(dead[0].attempts(), Some(MAX_INTERRUPTIONS as u64), "the starts that are known");
    assert_eq!(scene.broker.count(&orders), 0);
    assert!(!lines().contains(&KILLER.to_owned()));
}
