//! A policy that carries cases is judged by them before it may judge.

use std::time::Duration;

use reprieve::policy::cases::CaseTable;
use reprieve::policy::cases::section::{CASES_SECTION, encode};
use reprieve::policy::engine::{Candidate, EngineLimits};
use reprieve::policy::rejection::Rejection;
use serde_json::{Value, json};
use wasm_encoder::{CustomSection, Section};

use crate::log::Log;
use crate::support::{engine, load, load_into, module, route};

/// The policy that does what it is told, with this section of cases.
fn with_section(data: &[u8]) -> Vec<u8> {
    let mut file = module("misbehaving");
    CustomSection { name: CASES_SECTION.into(), data: data.into() }.append_to(&mut file);
    file
}

fn carrying(table: &Value) -> Vec<u8> {
    with_section(&encode(&[CaseTable::from_json(&table.to_string()).unwrap()]).unwrap())
}

/// A table whose cases are to be judged with these settings, and whose dead letter is expected.
fn dead_lettered(settings: &Value, names: impl IntoIterator<Item = String>) -> Value {
    let cases = names.into_iter().map(|name| json!({ "name": name, "expect": { "action": "dead-letter" } }));
    json!({ "settings": settings, "case": cases.collect::<Vec<_>>() })
}

fn one(name: &str) -> [String; 1] {
    [name.to_owned()]
}

#[test]
fn a_policy_that_passes_its_own_cases_is_loaded_whatever_the_routes_settings() {
    let file = carrying(&json!({
        "route": { "name": "invoices", "tiers": ["7m"] },
        "case": [
            { "name": "a retry", "settings": { "do": "retry", "millis": 1500 }, "expect": { "delay": "1s..2s" } },
            { "name": "a tier", "settings": { "do": "delay-to", "name": "7m" }, "expect": { "tier": "7m" } },
            {
                "name": "the route of the case",
                "failure": { "attempt": 3, "error": { "kind": "echo" } },
                "expect": { "action": "dead-letter", "reason": r#""name":"7m""# },
            },
        ],
    }));
    load(&file, &json!({ "do": "drop" })).unwrap();
}

#[test]
fn a_policy_that_fails_one_of_its_own_cases_is_refused_and_the_case_named() {
    let file = carrying(&json!({ "settings": { "do": "retry", "millis": 1500 }, "case": [
        { "name": "it waits", "expect": { "action": "retry" } },
        { "name": "it waits for long", "expect": { "delay": "1m" } },
        { "name": "it is not asked any more", "settings": { "do": "loop" }, "expect": { "action": "drop" } },
    ]}));
    let rejection = load(&file, &json!({})).unwrap_err();
    let Rejection::CaseFailed { case, cause } = &rejection else { panic!("{rejection:?}") };
    assert_eq!((case.as_str(), cause.as_str()), ("it waits for long", "delay is 1s 500ms, expected 1m"));
    assert_eq!(
        rejection.to_string(),
        "the policy fails its own case \"it waits for long\": delay is 1s 500ms, expected 1m; correct the policy or the case; \
         to see all that fail, build with --no-cases and give the file to `reprieve policy test FILE --cases cases`"
    );
}

#[test]
fn a_case_that_the_policy_refuses_or_faults_on_is_failed() {
    let cause = |settings: &Value| match load(&carrying(&dead_lettered(settings, one("it holds"))), &json!({})) {
        Err(Rejection::CaseFailed { case, cause }) if case == "it holds" => cause,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        cause(&json!({ "configure": "reject" })),
        "it refuses the settings: /configure: told to reject this setting; told to reject the settings as a whole"
    );
    assert!(cause(&json!({ "configure": "panic" })).starts_with("it failed when taking its settings: trap: "));
    assert!(cause(&json!({ "do": "panic" })).starts_with("trap: "));
    assert!(cause(&json!({ "do": "eat-memory" })).starts_with("memory: "));
    assert!(cause(&json!({ "do": "many-headers" })).starts_with("invalid-verdict: "));
}

#[test]
fn cases_that_cannot_be_read_refuse_the_policy() {
    for (section, message) in [
        (&b"nonsense"[..], "not a JSON list: "),
        (br#"[{"case": [{"name": "a", "expect": {"acton": "drop"}}]}]"#, "case \"a\": expect.acton: unknown field"),
    ] {
        match load(&with_section(section), &json!({})) {
            Err(Rejection::Cases { cause }) => assert!(cause.starts_with(message), "{cause}"),
            other => panic!("{other:?}"),
        }
    }
    let mut twice = carrying(&dead_lettered(&json!({}), one("a")));
    CustomSection { name: CASES_SECTION.into(), data: b"[]".into() }.append_to(&mut twice);
    assert!(matches!(load(&twice, &json!({})), Err(Rejection::Cases { .. })));
}

#[test]
fn a_policy_carries_a_thousand_cases_and_not_one_more_nor_too_many_bytes() {
    let names = |count: usize| (0..count).map(|n| n.to_string());
    load(&carrying(&dead_lettered(&json!({}), names(1000))), &json!({})).unwrap();

    let two_tables = json!([dead_lettered(&json!({}), names(600)), dead_lettered(&json!({}), names(401))]);
    let too_long = json!([dead_lettered(&json!({ "name": "s".repeat(5 << 20) }), names(1))]);
    for (section, message) in
        [(two_tables, "more than 1000 cases"), (too_long, "bytes of cases; a policy carries at most")]
    {
        match load(&with_section(section.to_string().as_bytes()), &json!({})) {
            Err(Rejection::Cases { cause }) => assert!(cause.contains(message), "{cause}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn cases_that_take_too_long_end_and_refuse_the_policy() {
    let cases_deadline = Duration::from_millis(50);
    let deadline = Duration::from_secs(5);
    let engine = engine(EngineLimits { cases_deadline, deadline, ..EngineLimits::default() });
    // Ten thousand log lines each.
    let table = dead_lettered(&json!({ "do": "log-flood" }), (0..1000).map(|n| n.to_string()));
    match load_into(&engine, &carrying(&table), &json!({})) {
        Err(Rejection::SlowCases { done, of: 1000 }) => assert!((1..1000).contains(&done), "{done}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn cases_are_judged_once_for_each_file_and_not_for_each_route() {
    let mut table = dead_lettered(&json!({ "configure": "log" }), one("it logs"));
    table["route"] = json!({ "name": "the-route-of-the-case" });
    let file = carrying(&table);
    let engine = engine(EngineLimits { deadline: Duration::from_secs(5), ..EngineLimits::default() });
    let log = Log::default();
    log.capture(|| {
        for name in ["orders", "invoices", "mail"] {
            let route = reprieve::policy::route_record::RouteRecord { name: name.into(), ..route() };
            engine.load(&Candidate { name, bytes: &file, route: &route, settings: &json!({}) }).unwrap();
        }
    });
    let lines = log.lines();
    let of_the_case: Vec<_> =
        lines.iter().filter(|line| line.contains("configured for the-route-of-the-case")).collect();
    assert_eq!(of_the_case.len(), 1, "{lines:#?}");
    assert!(of_the_case[0].contains("DEBUG") && of_the_case[0].contains("of a made-up failure"), "{lines:#?}");
}

#[test]
fn tools_keep_the_log_lines_of_each_case() {
    let engine = engine(EngineLimits { deadline: Duration::from_secs(5), ..EngineLimits::default() });
    let table = json!({ "case": [
        { "name": "quiet", "expect": { "action": "dead-letter" } },
        { "name": "a flood", "settings": { "do": "log-flood", "configure": "log" }, "expect": { "action": "drop" } },
    ]});
    let cases = CaseTable::from_json(&table.to_string()).unwrap().cases;
    let runs = engine.run_cases("test", &module("misbehaving"), &cases).unwrap();
    assert_eq!((runs[0].log.len(), runs[0].withheld), (0, 0));
    assert!(runs[0].result.failure().is_none());
    let texts: Vec<_> = runs[1].log.iter().map(|line| line.text.as_str()).collect();
    assert_eq!((texts[0], texts[1]), ("configured for orders", "line 0 of a flood"));
    assert_eq!((texts.len(), runs[1].withheld), (16, 10_001 - 16));
    assert_eq!(runs[1].result.failure().as_deref(), Some("action is dead-letter, expected drop"));
}
