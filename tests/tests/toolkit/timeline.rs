//! `reprieve policy timeline`

use crate::folder::Folder;

const CONFIG: &str = r#"
[host]
tiers = ["10s", "2m"]

[brokers.main]
kind = "memory"

[[routes]]
name = "orders"
broker = "main"
source = "orders"
handler = { kind = "command", program = ["true"] }
dead_letters = { default = "orders.dead" }
retry = { max_attempts = 3, initial_delay = "30s", max_delay = "10m", factor = 4.0 }
max_retry_delay = "5s"
"#;

fn said(folder: &Folder, arguments: &[&str]) -> String {
    let out = folder.reprieve("", &[&["policy", "timeline"], arguments].concat()).succeeded();
    // The first line names the revision, which is another with each build.
    out.split_once('\n').expect("several lines").1.to_owned()
}

#[test]
fn a_failure_is_drawn_to_its_end() {
    let folder = Folder::new();
    folder.write("settings.toml", "retry = { max_attempts = 6, initial_delay = \"1s\" }");
    insta::assert_snapshot!(said(&folder, &["standard", "--error", "timeout", "-s", "settings.toml"]));
}

#[test]
fn a_route_of_a_configuration_is_drawn_with_its_tiers_and_topics() {
    let folder = Folder::new();
    folder.write("reprieve.toml", CONFIG);
    insta::assert_snapshot!(said(&folder, &["standard", "-c", "reprieve.toml", "--error", "http-503"]));
}

#[test]
fn kinds_of_errors_are_compared_on_one_scale() {
    let errors = ["by-error-kind", "-e", "timeout", "-e", "validation", "-e", "http-429"];
    insta::assert_snapshot!(said(&Folder::new(), &errors));
}

#[test]
fn a_failure_of_a_journal_goes_on_from_its_attempt() {
    let folder = Folder::new();
    folder.write("failure.json", r#"{"attempt": 4, "error": "timeout", "age": "1h"}"#);
    let out = folder.reprieve("", &["policy", "timeline", "standard", "-f", "failure.json", "--json"]).succeeded();
    let report: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    let steps = report["plays"][0]["steps"].as_array().expect("a list");
    assert_eq!(steps.iter().map(|step| step["attempt"].as_u64()).collect::<Vec<_>>(), [Some(4), Some(5)]);
    assert_eq!(report["plays"][0]["end"]["how"], "dead-lettered");
}

#[test]
fn what_is_wrong_is_said_with_its_cure() {
    let folder = Folder::new();
    folder.write("reprieve.toml", CONFIG);
    folder.write("broken.json", "{\"age\": \"old\"}");
    let wrong = |arguments: &[&str]| folder.reprieve("", &[&["policy", "timeline"], arguments].concat()).failed(2);
    insta::assert_snapshot!("no_policy", wrong(&["nope.wasm", "-e", "x"]));
    insta::assert_snapshot!("no_failure", wrong(&["standard", "-f", "broken.json"]));
    insta::assert_snapshot!("no_route", wrong(&["standard", "-e", "x", "-c", "reprieve.toml", "-r", "invoices"]));
}
