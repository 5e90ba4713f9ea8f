use std::fs;

use super::*;

const CONFIG: &str = r#"
[policies]
folder = "policies"

[brokers.main]
kind = "rabbitmq"
url = "amqp://orders:hunter2@rabbit.internal:5672"

[brokers.local]
kind = "memory"

[[routes]]
name = "orders"
broker = "main"
source = "orders"
handler = { kind = "http", url = "http://127.0.0.1:9000/orders", timeout = "10s" }
policy = "strict"
dead_letters = { default = "orders.dlq", invalid = { exchange = "parked", routing_key = "orders" } }
retry = { max_attempts = 5, initial_delay = "1s", jitter = "equal" }

[[routes]]
name = "mails"
broker = "local"
source = "mails"
handler = { kind = "command", program = ["python3", "send.py"] }
tiers = []

[[routes]]
name = "rejected"
broker = "main"
source = "rejected"
handler = { kind = "judge" }
dead_letters = { default = "bills.dlq" }
"#;

/// What `check` prints, the folder's own path left out, and whether the configuration is right.
fn run_check(folder: &tempfile::TempDir) -> (bool, String, String) {
    let config = ConfigArgument { config: folder.path().join("reprieve.toml") };
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let right = report(&CheckArguments { config }, &mut out, &mut err).unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap().replace(&format!("{}/", folder.path().display()), "");
    (right, text(out), text(err))
}

#[test]
fn a_right_configuration_is_summed_up_and_its_warnings_stand_apart() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("reprieve.toml"), CONFIG).unwrap();
    fs::create_dir(folder.path().join("policies")).unwrap();
    fs::write(folder.path().join("policies/strict.wasm"), "").unwrap();
    let (right, out, err) = run_check(&folder);
    assert!(right);
    insta::assert_snapshot!("summary", out);
    insta::assert_snapshot!("warnings", err);
}

#[test]
fn a_missing_policy_is_an_error_and_nothing_is_summed_up() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("reprieve.toml"), CONFIG).unwrap();
    let (right, out, err) = run_check(&folder);
    assert!(!right);
    assert_eq!(out, "");
    insta::assert_snapshot!("missing_policy", err);
}

#[test]
fn a_wrong_configuration_is_explained_on_standard_error_only() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("reprieve.toml"), CONFIG.replace("[[routes]]", "[routes]")).unwrap();
    let (right, out, err) = run_check(&folder);
    assert!(!right);
    assert_eq!(out, "");
    insta::assert_snapshot!("wrong", err);
}
