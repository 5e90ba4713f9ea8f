//! Cases that share what is large.

use std::fmt::Write as _;

use reprieve::policy::engine::{Candidate, Engine, EngineLimits};
use reprieve::policy::rejection::Rejection;
use reprieve_tests::small_policy::SmallPolicy;
use serde_json::Value;

use crate::resident::{Bytes, peak, resident};
use crate::{alone, route};

/// Several times what the section has, and far from a thousand times.
const TOLERANCE: Bytes = Bytes::mib(100);

#[test]
fn settings_of_3_mib_that_a_thousand_cases_share_are_not_kept_a_thousand_times() {
    let _alone = alone();
    let mut cases = String::from(r#"[{"settings":{"text":""#);
    cases.push_str(&"s".repeat(3 << 20));
    cases.push_str(r#""},"case":["#);
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
    // It has no room for such settings, which shows that they were handed to it.
    assert!(matches!(&rejection, Rejection::CaseFailed { case, .. } if case == "0"), "{rejection}");
    println!("{} of cases: {before} before, {peak} at most", Bytes(bytes.len() as u64));
    assert!(peak.since(before) < TOLERANCE, "{before} before, {peak} at most");
}
