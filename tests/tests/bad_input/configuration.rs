//! A configuration that is wrong: nothing starts, and the message names the line and what would be right.

use crate::place::Place;

const RIGHT: &str = r#"
[host]
admin = "127.0.0.1:0"

[brokers.local]
kind = "memory"

[[routes]]
name = "orders"
broker = "local"
source = "orders"
handler = { kind = "http", url = "http://127.0.0.1:9000/orders", timeout = "10s" }
concurrency = 16
dead_letters = { default = "orders.dlq" }

[[routes]]
name = "mails"
broker = "local"
source = "mails"
handler = { kind = "command", program = ["python3", "send.py"] }
dead_letters = { default = "mails.dlq" }
"#;

/// What `run` says before it ends with exit code 2. `check` says the same.
fn refusal(config: &str) -> String {
    let place = Place::bare(config);
    let run = place.call(&["run", "-c", "reprieve.toml"]);
    let check = place.call(&["check", "-c", "reprieve.toml"]);
    assert_eq!(run, check);
    let (code, out, err) = run;
    assert_eq!((code, out.as_str()), (Some(2), ""), "{err}");
    err
}

/// The right configuration with one thing put wrong.
fn with(right: &str, wrong: &str) -> String {
    assert!(RIGHT.contains(right), "{right}");
    RIGHT.replace(right, wrong)
}

#[test]
fn an_unknown_key_is_named_with_the_one_that_was_probably_meant() {
    insta::assert_snapshot!(refusal(&with("concurrency", "concurency")));
}

#[test]
fn a_bad_duration_is_shown_with_one_that_is_right() {
    insta::assert_snapshot!(refusal(&with("\"10s\"", "\"10 parsecs\"")));
}

#[test]
fn a_policy_without_a_folder_of_policies_is_refused() {
    insta::assert_snapshot!(refusal(&with("concurrency = 16", "policy = \"strict\"")));
}

#[test]
fn everything_that_is_wrong_is_told_at_once() {
    let config = with("concurrency = 16", "concurrency = 0\npolcy = \"strict\"").replace("\"10s\"", "10");
    insta::assert_snapshot!(refusal(&config));
}

#[test]
fn a_text_that_is_no_configuration_is_refused() {
    insta::assert_snapshot!(refusal("hello there\n"));
}

#[test]
fn a_handlers_folder_that_is_missing_is_refused() {
    insta::assert_snapshot!(refusal(&with("\"send.py\"] }", "\"send.py\"], directory = \"gone\" }")));
}

#[test]
fn a_configuration_file_that_is_missing_is_named() {
    let place = Place::bare("");
    let (code, out, err) = place.call(&["run", "-c", "gone.toml"]);
    assert_eq!((code, out.as_str()), (Some(2), ""));
    insta::assert_snapshot!(err);
}

#[test]
fn an_admin_address_that_is_taken_is_named() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let place = Place::bare(&with("127.0.0.1:0", &address));
    let (code, _, err) = place.call(&["run", "-c", "reprieve.toml"]);
    assert_eq!(code, Some(1), "nothing is wrong with the file: {err}");
    insta::assert_snapshot!(err.replace(&address, "ADDRESS"));
}
