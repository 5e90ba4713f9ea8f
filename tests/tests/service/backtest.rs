//! `reprieve policy backtest`, on what a host recorded.

use std::fs;
use std::path::Path;
use std::process::{Output, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use reprieve_tests::judged_again::policy_file;
use serde_json::{Value, json};

use crate::place::{Place, ROUTE};
use crate::program::Program;
use crate::wait_for;

/// Every message fails with the exit code that is its body; on the first route with a higher one each time. Its policy goes
/// by the headers; one delays through a tier and spreads its retries at random, and one judges the messages of two routes.
const ROUTES: &str = r#"
[policies]
folder = "policies"

[brokers.local]
kind = "memory"

[defaults]
retry = { max_attempts = 4, initial_delay = "1ms", jitter = "full" }

[[routes]]
name = "headers"
broker = "local"
source = "headers"
policy = "rules"
handler = { kind = "command", program = ["sh", "-c", "exit $(($(cat) + REPRIEVE_ATTEMPT))"] }
dead_letters = { default = "headers.dlq", found = "headers.found" }
settings.rules = [
    { pattern = "exit-4", header = "x-tenant", value = "gold", delay = "1ms", label = "found" },
    { pattern = "exit-*", header = "x-number", value = "7", delay = "1ms", label = "found" },
]

[[routes]]
name = "tiers"
broker = "local"
source = "tiers"
handler = { kind = "command", program = ["sh", "-c", "exit $(cat)"] }
dead_letters = { default = "tiers.dlq" }
settings.tiers = ["100ms"]

[[routes]]
name = "first"
broker = "local"
source = "first"
policy = "by-error-kind"
handler = { kind = "command", program = ["sh", "-c", "exit $(cat)"] }
dead_letters = { default = "first.dlq" }
settings.max_attempts = 2

[[routes]]
name = "second"
broker = "local"
source = "second"
policy = "by-error-kind"
handler = { kind = "command", program = ["sh", "-c", "exit $(cat)"] }
dead_letters = { default = "second.dlq" }
settings.max_attempts = 3
"#;

/// Messages for each route.
const MESSAGES: usize = 12;

/// Failures that take some minutes to be judged.
const LOOPS: usize = 5000;

struct Recorded(Place);

impl Recorded {
    /// A host has judged, and ended.
    fn new(journal: &str) -> Self {
        let place = Place::new("tiers = [\"100ms\"]", &format!("[journal]\n{journal}\n{ROUTES}"));
        let text = fs::read_to_string(place.path("reprieve.toml")).unwrap();
        place.write("reprieve.toml", text.replacen("tiers = []\n", "", 1));
        fs::create_dir(place.path("policies")).unwrap();
        for name in ["rules", "by-error-kind"] {
            let file = policy_file(name);
            fs::copy(&file, place.path(&format!("policies/{name}.wasm")))
                .unwrap_or_else(|error| panic!("{}: {error}: run `cargo xtask test-policies` first", file.display()));
        }
        let program = place.run(&[], &[]);
        program.wait_for_line("ready: every route takes messages");
        let text = fs::read_to_string(place.path("reprieve.toml")).unwrap();
        place.write("send.toml", text.replace("127.0.0.1:0", &program.admin.to_string()));
        for (number, topic) in ["headers", "tiers", "first", "second"].into_iter().enumerate() {
            for (body, tenant) in [("3", "gold"), ("4", "tin")] {
                let (header, number) = (format!("x-tenant={tenant}"), format!("x-number={}", number + 6));
                let count = (MESSAGES / 2).to_string();
                let send = ["send", "-c", "send.toml", topic, body, "-n", &count, "-H", &header, "-H", &number];
                let (code, text) = place.call(&send, &[]);
                assert_eq!(code, Some(0), "{text}");
            }
        }
        wait_for("the dead letters", || (dead_letters(&program) == 4 * MESSAGES).then_some(()));
        program.stop();
        Self(place)
    }

    fn backtest(&self, arguments: &[&str]) -> (Option<i32>, String) {
        self.0.call(&[&["policy", "backtest", "-c", "reprieve.toml"], arguments].concat(), &[])
    }

    /// With this exit code.
    fn report(&self, code: i32, arguments: &[&str]) -> Value {
        let all = [&["policy", "backtest", "-c", "reprieve.toml", "--json"], arguments].concat();
        let Output { status, stdout, stderr } = self.0.command(&all, &[]).output().unwrap();
        let text = String::from_utf8(stdout).unwrap();
        assert_eq!(status.code(), Some(code), "{text}{}", String::from_utf8_lossy(&stderr));
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }
}

fn dead_letters(program: &Program) -> usize {
    let text = program.get("/metrics", "").1;
    let samples = text.lines().filter(|line| !line.starts_with('#') && line.contains("event=\"dead-lettered\""));
    samples.filter_map(|line| line.rsplit(' ').next()?.parse::<usize>().ok()).sum()
}

fn number(report: &Value, pointer: &str) -> u64 {
    report.pointer(pointer).and_then(Value::as_u64).unwrap_or_else(|| panic!("no {pointer} in {report:#}"))
}

#[test]
fn a_policy_changes_nothing_of_its_own_record() {
    let recorded = Recorded::new("headers = [\"x-*\"]");
    let own: [&[&str]; 3] = [
        &["policies/rules.wasm"],
        &["standard", "--route", "tiers"],
        // On two routes, each with its own settings.
        &["policies/by-error-kind.wasm"],
    ];
    for arguments in own {
        let report = recorded.report(0, &[arguments, &["--fail-if", "changed:0", "--fail-if", "gaps:0"]].concat());
        let judged = number(&report, "/report/judged");
        let routes = report["judging"].as_array().unwrap().len() as u64;
        assert!(judged >= routes * MESSAGES as u64, "{report:#}");
        assert_eq!(number(&report, "/report/same"), judged);
        let messages = number(&report, "/report/messages/messages");
        assert_eq!((messages, number(&report, "/report/messages/same")), (routes * MESSAGES as u64, messages));
    }
    // The header decides, and is kept with its type.
    let report = recorded.report(0, &["policies/rules.wasm"]);
    assert!(number(&report, "/report/outcomes/dead-letter/before") > 0 && report["partial"] == json!(false));
}

#[test]
fn what_was_not_kept_is_named_before_anything_is_judged_and_no_gate_passes_on_nothing() {
    let recorded = Recorded::new("headers = [\"x-number\"]");
    let gate = ["policies/rules.wasm", "--fail-if", "dead-letter:+5%"];
    let (code, text) = recorded.backtest(&gate);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("none of the ") && text.contains("header x-tenant was not kept, in "), "{text}");
    let report = recorded.report(0, &["policies/rules.wasm", "--allow-gaps"]);
    assert!(number(&report, "/report/changed") > 0, "without the header it says something else: {report:#}");
    assert_eq!(number(&report, "/report/incomplete"), number(&report, "/report/judged"));
    // Who reads no header is not hindered.
    recorded.report(0, &["standard", "--route", "tiers", "--fail-if", "gaps:0", "--fail-if", "changed:0"]);
}

#[test]
fn a_changed_policy_is_told_by_its_changes_and_stopped_by_a_limit() {
    let recorded = Recorded::new("");
    recorded.0.write("hasty.toml", "tiers = []\nretry = { max_attempts = 2 }\n");
    let hasty = ["standard", "--route", "tiers", "--settings", "hasty.toml"];
    let report = recorded.report(1, &[&hasty[..], &["--fail-if", "dead-letter:+5%", "--fail-if", "faults:0"]].concat());
    let violations = report["violations"].as_array().unwrap();
    assert!(violations.len() == 1 && violations[0].as_str().unwrap().starts_with("dead-letter:+5%: "), "{report:#}");
    assert_eq!(number(&report, "/report/messages/sooner"), MESSAGES as u64, "{report:#}");
    assert!(number(&report, "/report/messages/saved_failures") >= MESSAGES as u64, "{report:#}");

    let (code, text) = recorded.backtest(&hasty);
    assert_eq!(code, Some(0), "{text}");
    let entry = text.split('#').nth(1).unwrap().split_whitespace().next().unwrap();
    let (code, life) = recorded.0.call(&["journal", "show", &format!("#{entry}"), "-c", "reprieve.toml"], &[]);
    assert!(code == Some(0) && life.contains("exit-"), "{life}");

    // What was exported, of all routes, is judged as what stands in the journal.
    let (code, lines) = recorded.0.call(&["journal", "export", "-c", "reprieve.toml"], &[]);
    assert_eq!(code, Some(0), "{lines}");
    recorded.0.write("failures.jsonl", lines);
    let again = recorded.report(0, &[&hasty[..], &["--failures", "failures.jsonl"]].concat());
    assert_eq!(again["report"], report["report"]);

    // Against the policy that the route names the record does not matter.
    let against = recorded.report(0, &[&hasty[..], &["--against", "live"]].concat());
    assert_eq!(against["report"]["groups"], report["report"]["groups"]);
}

#[test]
fn what_is_interrupted_tells_what_it_has_seen_and_is_no_success() {
    let place = Place::new("", ROUTE);
    // Each decision takes as long as it may.
    place.write("failures.jsonl", "{\"error\": \"loop\"}\n".repeat(LOOPS));
    let file = policy_file("misbehaving");
    let mut command =
        place.command(&["policy", "backtest", "--failures", "failures.jsonl", "--json", "--against"], &[]);
    command.arg(&file);
    let child = command.arg(&file).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let pid = child.id();
    wait_for("a program that minds Ctrl-C", || minds_interrupts(pid).then_some(()));
    kill(Pid::from_raw(i32::try_from(pid).unwrap()), Signal::SIGINT).unwrap();
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    let report: Value = serde_json::from_slice(&stdout).unwrap_or_else(|error| panic!("{error}: {stderr:?}"));
    assert_eq!((status.code(), &report["partial"]), (Some(1), &json!(true)), "{report:#}");
    assert!(number(&report, "/report/judged") < LOOPS as u64, "{report:#}");
}

/// Whether a handler for SIGINT stands.
fn minds_interrupts(pid: u32) -> bool {
    let status = fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    caught & (1 << (Signal::SIGINT as u32 - 1)) != 0
}
