//! The committed policies against what their sources build to. Their bytes differ with each compiler; their verdicts
//! must not.

use std::collections::BTreeSet;
use std::time::Duration;

use reprieve::policy::embedded::{BY_ERROR_KIND, STANDARD};
use reprieve::policy::engine::{Candidate, Engine, EngineLimits, Revision};
use reprieve::policy::route_record::RouteRecord;
use reprieve::topic::Tier;
use reprieve_sdk::{Jitter, RetryPolicy};
use serde_json::{Value, json};
use wasmparser::{Parser, Payload};

use crate::{built, generated};

/// For each route and settings.
const FAILURES: usize = 10_000;

#[test]
fn the_committed_standard_policy_judges_10_000_failures_as_its_sources_do() {
    let settings = json!({
        "retry": { "max_attempts": 3, "jitter": "equal" },
        "tiers": ["30s", "5m"],
        "exhausted": { "delay-to": "5m" },
        "give_up_after": "24h",
        "rules": [
            { "kinds": ["http-5*", "connect"], "retry": { "max_attempts": u32::MAX, "factor": 3.5, "max_delay": "30d" } },
            { "kinds": ["validation*"], "exhausted": { "dead-letter-to": "invalid" } },
            { "kinds": ["invalid*"], "retry": { "max_attempts": 1 }, "tiers": [], "exhausted": "drop" },
        ],
    });
    let seen = same_verdicts("standard", STANDARD, &[(bare(), json!({})), (full(), json!({})), (full(), settings)]);
    assert_eq!(seen, BTreeSet::from(["retry", "delay", "delay-to", "dead-letter", "drop"]));
}

#[test]
fn the_committed_by_error_kind_policy_judges_10_000_failures_as_its_sources_do() {
    let settings = json!({
        "invalid": ["http-400", "validation"],
        "max_attempts": 7,
        "timeout_retries": 4,
        "timeout_wait": "250ms",
        "delay": "5m",
        "give_up_after": "1h",
        "standard": { "tiers": ["30s", "5m"], "exhausted": "drop" },
    });
    let routes = [(bare(), json!({})), (full(), json!({})), (full(), settings)];
    let seen = same_verdicts("by-error-kind", BY_ERROR_KIND, &routes);
    assert_eq!(seen, BTreeSet::from(["retry", "delay", "delay-to", "dead-letter", "drop"]));
}

#[test]
fn a_committed_policy_names_no_folder_of_the_machine_that_built_it() {
    for (name, module) in [("standard", STANDARD), ("by-error-kind", BY_ERROR_KIND)] {
        for folder in ["/home/", "/root/", "/.cargo/", "/.rustup/", "/registry/src/", env!("CARGO_MANIFEST_DIR")] {
            let found = module.windows(folder.len()).any(|window| window == folder.as_bytes());
            assert!(!found, "{name} has {folder} in it");
        }
    }
}

/// Asks the committed policy and a fresh build of it, and gives the names of the actions that they answered with.
fn same_verdicts(name: &str, committed: &[u8], routes: &[(RouteRecord, Value)]) -> BTreeSet<&'static str> {
    let fresh = built(&format!("fresh-policies/{name}.wasm"));
    assert_eq!(
        sources(committed),
        sources(&fresh),
        "{name} is committed and built from different sources: run `cargo xtask policies`, then `cargo xtask test`"
    );
    // With a deadline that no decision misses, however busy the machine is.
    let engine = Engine::new(EngineLimits { deadline: Duration::from_secs(10), ..EngineLimits::default() }).unwrap();
    let load = |bytes, (route, settings): &(RouteRecord, Value)| -> Revision {
        engine.load(&Candidate { name, bytes, route, settings }).unwrap_or_else(|why| panic!("{name}: {why}"))
    };
    let mut actions = BTreeSet::new();
    for (case, route) in routes.iter().enumerate() {
        let (committed, fresh) = (load(committed, route), load(&fresh, route));
        for failure in generated::failures(case as u64).take(FAILURES) {
            let verdict = committed.decide(&failure).unwrap();
            assert_eq!(verdict, fresh.decide(&failure).unwrap(), "{name}, {}: {}", route.1, json!(failure));
            actions.insert(verdict.action.name());
        }
    }
    actions
}

/// The digest of the sources that a policy was built from.
fn sources(module: &[u8]) -> String {
    let sections = Parser::new(0).parse_all(module).map(|payload| payload.expect("a valid module"));
    let digests: Vec<_> = sections
        .filter_map(|payload| match payload {
            Payload::CustomSection(section) if section.name() == "reprieve:source-digest" => Some(section.data()),
            _ => None,
        })
        .collect();
    let [digest] = digests[..] else { panic!("{} source digests", digests.len()) };
    String::from_utf8(digest.to_vec()).expect("a digest in hexadecimal")
}

/// A route that can do nothing but retry and drop.
fn bare() -> RouteRecord {
    RouteRecord {
        name: "orders".to_owned(),
        source: "orders".to_owned(),
        tiers: Vec::new(),
        dead_letters: Vec::new(),
        retry: RetryPolicy::default(),
        max_retry_delay: Duration::ZERO,
        max_body: 0,
    }
}

fn full() -> RouteRecord {
    let tier = |name: &str, seconds| Tier { name: name.to_owned(), delay: Duration::from_secs(seconds) };
    RouteRecord {
        tiers: vec![tier("30s", 30), tier("5m", 300)],
        dead_letters: vec!["default".to_owned(), "invalid".to_owned()],
        retry: RetryPolicy { max_attempts: 5, jitter: Jitter::Full, ..RetryPolicy::default() },
        max_retry_delay: Duration::from_secs(60),
        max_body: 4096,
        ..bare()
    }
}
