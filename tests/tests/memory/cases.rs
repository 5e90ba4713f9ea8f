//! Cases that share what is large.

use std::fmt::Write as _;

use reprieve::policy::engine::{Candidate, Engine, EngineLimits};
use reprieve::policy::rejection::Rejection;
use reprieve_tests::small_policy::SmallPolicy;
use serde_json::Value;

use crate::resident::{Bytes, peak, resident};
use crate::{alone, route};

/// Several times what the largest section takes, and far from a thousand times, or from what a section of some MiB would.
const TOLERANCE: Bytes = Bytes::mib(100);

#[test]
fn settings_that_a_thousand_cases_share_are_not_kept_a_thousand_times() {
    // The policy dead-letters everything, which shows that the cases were judged.
    let rejection = refused_within_tolerance(200 << 10);
    assert!(matches!(&rejection, Rejection::CaseFailed { case, .. } if case == "0"), "{rejection}");
}

#[test]
fn cases_of_many_mib_are_refused_before_they_are_read() {
    let rejection = refused_within_tolerance(8 << 20);
    assert!(matches!(&rejection, Rejection::Cases { .. }), "{rejection}");
}

/// Loads a policy with a thousand cases that share so many bytes of settings, all of them small tables, of which each
/// takes a hundred times its text in memory.
fn refused_within_tolerance(bytes_of_settings: usize) -> Rejection {
    let _alone = alone();
    let mut cases = String::from(r#"[{"settings":{"tables":[{"a":0}"#);
    while cases.len() < bytes_of_settings {
        cases.push_str(r#",{"a":0}"#);
    }
    cases.push_str(r#"]},"case":["#);
    for number in 0..1000 {
        let comma = if number == 0 { "" } else { "," };
        write!(cases, r#"{comma}{{"name":"{number}","expect":{{"action":"drop"}}}}"#).unwrap();
    }
    cases.push_str("]}]");
    let bytes = SmallPolicy { cases: Some(cases.into_bytes()), ..SmallPolicy::new("calm") }.build();
    let engine = Engine::new(EngineLimits::default()).unwrap();
    let candidate = Candidate { name: "cases", bytes: &bytes, route: &route(), settings: &Value::Null };

    let before = resident();
    let rejection = engine.load(&candidate).unwrap_err();
    let peak = peak();
    println!("{} of cases: {before} before, {peak} at most", Bytes(bytes.len() as u64));
    assert!(peak.since(before) < TOLERANCE, "{before} before, {peak} at most");
    rejection
}
