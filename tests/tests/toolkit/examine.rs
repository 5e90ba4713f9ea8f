//! `reprieve policy check`, `run`, `inspect` and `bench`

use serde_json::Value;

use crate::folder::Folder;

/// A dead letter as RabbitMQ's management API prints it.
const DEAD_LETTER: &str = r#"[{
    "payload_bytes": 9, "redelivered": false, "exchange": "", "routing_key": "orders.dlq", "message_count": 0,
    "properties": {
        "message_id": "A1", "delivery_mode": 2, "content_type": "application/json",
        "headers": {
            "tenant": "acme", "reprieve-attempts": 5, "reprieve-error-kind": "http-503", "reprieve-error": "busy",
            "reprieve-origin-topic": "orders", "reprieve-route": "orders", "reprieve-reason": "attempt 5 of 5 failed",
            "reprieve-failed-at": "2026-03-01T10:00:00.000Z", "reprieve-policy": "standard@1f3870be274f"
        }
    },
    "payload": "{\"id\": 7}", "payload_encoding": "string"
}]"#;

/// A policy that counts its decisions in a static.
const COUNTER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/test-policies/counter.wasm");
/// A policy that does what the kind of the error says.
const MISBEHAVING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/test-policies/misbehaving.wasm");

#[test]
fn a_policy_that_is_right_is_checked_step_by_step() {
    let out = Folder::new().reprieve("", &["policy", "check", "standard"]).succeeded();
    for step in ["interface", "settings", "decisions", "purity"] {
        assert!(out.contains(&format!("✓ {step}")), "{step} in {out}");
    }
    assert!(out.ends_with("A host would take it.\n"), "{out}");
}

#[test]
fn a_policy_with_hidden_state_is_named() {
    let said = Folder::new().reprieve("", &["policy", "check", COUNTER]);
    assert_eq!(said.code, Some(2), "{}{}; `cargo xtask test-policies` builds it", said.out, said.err);
    assert!(said.out.contains("✗ purity"), "{}", said.out);
    assert!(said.err.contains("counter keeps something between decisions"), "{}", said.err);
}

#[test]
fn a_wrong_setting_is_shown_where_it_is_written() {
    let folder = Folder::new();
    folder.write("settings.toml", "give_up_after = '24h'\n[[rules]]\nkinds = []\n");
    let said = folder.reprieve("", &["policy", "check", "standard", "--settings", "settings.toml"]);
    assert_eq!(said.code, Some(2), "{}", said.out);
    assert!(said.out.contains("✗ settings") && said.out.contains("– decisions"), "{}", said.out);
    assert!(said.err.contains(" --> settings.toml:3:1"), "{}", said.err);
    let error = folder.reprieve("", &["policy", "run", "standard", "-s", "settings.toml", "-e", "timeout"]).failed(2);
    assert!(error.contains(" --> settings.toml:3:1"), "{error}");
}

#[test]
fn a_dead_letter_that_is_pasted_is_judged_again_and_as_another_attempt() {
    let folder = Folder::new();
    folder.write("dead.json", DEAD_LETTER);
    let out = folder.reprieve("", &["policy", "run", "standard", "-f", "dead.json"]).succeeded();
    assert!(out.contains("judges attempt 5 of message A1 on route orders: http-503: busy"), "{out}");
    assert!(out.contains("the message goes to the dead-letter topic orders.dlq"), "{out}");
    assert!(out.contains("standard@1f3870be274f: attempt 5 of 5 failed"), "{out}");
    let out = folder.reprieve("", &["policy", "run", "standard", "-f", "dead.json", "-n", "1", "--json"]).succeeded();
    let explained: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(explained["verdict"]["action"], "retry", "{out}");
    assert!(explained["instructions"].as_u64().is_some_and(|instructions| instructions > 100), "{out}");
}

#[test]
fn without_a_failure_there_is_advice_instead_of_a_wait() {
    let error = Folder::new().reprieve("", &["policy", "run", "standard"]).failed(2);
    assert!(error.contains("there is no failure to judge") && error.contains("--error timeout"), "{error}");
}

#[test]
fn a_policy_shows_its_settings_and_what_is_in_its_file() {
    let folder = Folder::new();
    let out = folder.reprieve("", &["policy", "inspect", "standard"]).succeeded();
    assert!(out.contains("\nSettings\n") && out.contains("retry.max_attempts"), "{out}");
    assert!(out.contains("  exports ") && out.contains(" reprieve:policy/policy@0.1.0#decide\n"), "{out}");
    let out = folder.reprieve("", &["policy", "inspect", "standard", "--json"]).succeeded();
    let inspected: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&inspected["interface"], &inspected["file"]["form"]), (&"0.1.0".into(), &"module".into()), "{out}");
    folder.write("note.wasm", "hello");
    let error = folder.reprieve("", &["policy", "inspect", "note.wasm"]).failed(2);
    assert!(error.contains("note is not WebAssembly"), "{error}");
}

#[test]
fn what_decisions_cost_is_measured() {
    let out = Folder::new().reprieve("", &["policy", "bench", "standard", "--seconds", "1", "--json"]).succeeded();
    let measured: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(measured["faults"], 0, "{out}");
    let number = |pointer: &str| measured.pointer(pointer).and_then(Value::as_f64).unwrap_or(-1.0);
    assert!(number("/latency_ns/p50") > 0.0 && number("/latency_ns/p50") <= number("/latency_ns/p99"), "{out}");
    assert!(number("/per_second/two_threads") > 0.0 && number("/instructions") > 100.0, "{out}");
}

#[test]
fn memory_that_stops_a_policy_is_over_its_limit() {
    let arguments = ["policy", "bench", MISBEHAVING, "--error", "eat-memory", "--seconds", "1", "--json"];
    let out = Folder::new().reprieve("", &arguments).succeeded();
    let measured: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(measured["faults"], measured["decisions"], "{out}");
    assert_eq!(
        (&measured["usage"][0]["what"], &measured["usage"][0]["hit"]),
        (&"memory".into(), &true.into()),
        "{out}"
    );
}

#[test]
fn run_alone_says_that_it_reads_a_failure_that_nobody_names() {
    let help = |command| Folder::new().reprieve("", &["policy", command, "--help"]).succeeded();
    let from_standard_input = "Where nothing says what failed, the failure is read from standard input";
    assert!(help("run").contains(from_standard_input), "{}", help("run"));
    assert!(!help("bench").contains("where nothing says what failed"), "{}", help("bench"));
    assert!(!help("bench").contains(from_standard_input), "{}", help("bench"));
}
