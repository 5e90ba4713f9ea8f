//! Files that are no policies and settings that a policy refuses: the route says so and runs on what it had, or waits
//! where it had nothing.

use reprieve::policy::embedded;
use serde_json::Value;

use crate::place::{Place, bad_files};
use crate::program::Program;
use crate::wait_for;

/// A route whose handler always fails, judged by this policy.
pub(crate) fn route(name: &str, policy: &str, settings: &str) -> String {
    format!(
        r#"
[[routes]]
name = "{name}"
broker = "local"
source = "{name}"
policy = "{policy}"
handler = {{ kind = "command", program = ["sh", "-c", "exit 3"] }}
dead_letters = {{ default = "{name}.dlq" }}
settings = {settings}
"#
    )
}

/// The policy of a route as `/status` shows it.
pub(crate) fn status(program: &Program, route: &str) -> Value {
    let (_, status) = program.get("/status");
    let routes = status["policies"]["routes"].as_array().expect("a list of routes").clone();
    routes.into_iter().find(|one| one["route"] == route).expect("the route is listed")
}

/// Waits until a message of `orders` is dead-lettered, and gives the revision that judged it.
fn judged_by(program: &Program, id: &str) -> String {
    program.send("orders", id, "an order");
    let headers = wait_for("a dead letter", || {
        let (_, shown) = program.get("/topics/orders.dlq?limit=100");
        let letter = shown["messages"].as_array()?.iter().find(|message| message["id"] == id)?.clone();
        letter["headers"].as_array().cloned()
    });
    let policy = headers.iter().find(|header| header[0] == "reprieve-policy").expect("it names its policy");
    policy[1].as_str().expect("a text").to_owned()
}

#[test]
fn a_route_that_starts_with_a_bad_policy_waits_for_a_good_one() {
    let mut routes = route("missing", "missing", "{}") + &route("settings", "good", "{ give_up_aftr = \"24h\" }");
    for (name, _) in bad_files() {
        routes += &route(name, name, "{}");
    }
    let place = Place::new(&routes);
    for (name, bytes) in bad_files() {
        place.install(name, bytes);
    }
    place.install("good", embedded::STANDARD);
    let program = place.run();

    program.assert_that_mails_are_handled(&place);
    insta::assert_snapshot!("start", program.lines(&["the policy was not taken", "pauses until"], &[]));
    insta::assert_snapshot!("start_readiness", program.readiness(&[]));
    let error = status(&program, "empty")["last_error"].clone();
    assert!(error["text"].as_str().is_some_and(|text| text.starts_with("policies/empty.wasm: ")), "{error}");
    assert!(error["at"].as_str().is_some_and(|at| at.ends_with('Z')), "{error}");
    let (code, answer) = program.post("empty", &[], b"an order");
    assert_eq!(code, 404, "what nobody could handle yet is not taken");
    insta::assert_snapshot!("start_topic", answer);

    place.install("empty", embedded::STANDARD);
    program.wait_until_ready("empty");
    program.send("empty", "m1", "an order");
    program.messages("empty.dlq", 1);
    assert!(status(&program, "empty")["live_since"].as_str().is_some_and(|since| since.ends_with('Z')));
    program.stop();
}

#[test]
fn a_bad_policy_in_the_place_of_a_good_one_changes_nothing() {
    let place = Place::new(&route("orders", "strict", "{}"));
    place.install("strict", embedded::STANDARD);
    let program = place.run();
    program.wait_until_ready("orders");
    let revision = judged_by(&program, "before");

    for (name, bytes) in bad_files() {
        let before = status(&program, "orders")["last_error"].clone();
        place.install("strict", bytes);
        wait_for("the refusal", || {
            let error = status(&program, "orders")["last_error"].clone();
            (error["text"] != before["text"] && !error.is_null()).then_some(())
        });
        assert_eq!(judged_by(&program, name), revision, "{name}");
    }
    std::fs::remove_file(place.path("policies/strict.wasm")).unwrap();
    program.wait_for_line(&["the policy was not taken", "does not exist"]);
    assert_eq!(judged_by(&program, "missing"), revision);

    place.configure(&route("orders", "strict", "{ give_up_aftr = \"24h\" }"));
    place.install("strict", embedded::STANDARD);
    wait_for("the good file", || status(&program, "orders")["last_error"].is_null().then_some(()));
    program.hang_up();
    program.wait_for_line(&["the policy was not taken", "give_up_aftr"]);
    assert_eq!(judged_by(&program, "settings"), revision);
    place.write("reprieve.toml", "hello there\n");
    program.hang_up();
    program.wait_for_line(&["the configuration stays as it was"]);

    assert_eq!(program.get("/readyz").0, 200);
    program.assert_that_mails_are_handled(&place);
    insta::assert_snapshot!("swap", program.lines(&["the policy was not taken", "the configuration stays"], &[]));
    program.stop();

    place.configure(&route("orders", "strict", "{}"));
    place.install("strict", "not a policy");
    let program = place.run();
    program.wait_until_ready("orders");
    assert_eq!(judged_by(&program, "after a restart"), revision);
    insta::assert_snapshot!("restart", program.lines(&["the policy was not taken", "last good"], &[]));
    assert_eq!(status(&program, "orders")["source"], "last-good");
    program.stop();
}
