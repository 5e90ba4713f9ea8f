use serde_json::json;

use super::super::failure_argument::Then;
use super::*;
use crate::failure::Failure;
use crate::policy::engine::{Level, LogLine};
use crate::verdict::{Action, Fault, FaultKind, Verdict};

/// What is told of a decision that took always the same.
fn told(result: Result<Verdict, Fault>, change: impl FnOnce(&mut Measured, &mut Given)) -> String {
    let judged = Judged::example("my-policy", include_bytes!("../../../../policies/standard.wasm"));
    let failure = Failure::from_written(&json!({ "attempt": 2, "error": "timeout", "expires_in": "10m" })).unwrap();
    let mut given = Given { failure, then: None };
    let mut measured = Measured {
        result,
        elapsed: Duration::from_nanos(8_300),
        instructions: Some(12_345),
        memory: 1_114_112,
        log: Vec::new(),
        withheld: 0,
    };
    change(&mut measured, &mut given);
    let explained = Explained::new(&judged, "my-policy@0123456789ab".into(), given, measured);
    View { explained: &explained, style: Style::PLAIN }.to_string()
}

#[test]
fn a_verdict_is_explained() {
    let mut verdict = Verdict::new(Action::Retry { delay_ms: 400 }, "it may pass");
    verdict.headers = vec![("team".into(), "billing".into()), ("ticket".into(), "none".into())];
    verdict.pause_intake = Some(5000);
    insta::assert_snapshot!(told(Ok(verdict), |_, _| {}));
}

#[test]
fn an_override_says_why() {
    let verdict = Verdict::new(Action::DelayTo { tier: "30m".into() }, "later");
    let text = told(Ok(verdict), |_, given| {
        given.then = Some(Then { policy: Some("standard@1f38".into()), reason: Some("enough".into()) });
    });
    insta::assert_snapshot!(text);
}

#[test]
fn a_policy_that_gives_no_verdict_is_judged_for_by_the_fallback() {
    let text = told(Err(Fault::new(FaultKind::Timeout, "no answer within the deadline")), |measured, _| {
        measured.elapsed = Duration::from_millis(11);
        measured.withheld = 3;
        measured.log = vec![LogLine { level: Level::Warn, text: "here we go".into() }; 16];
    });
    insta::assert_snapshot!(text);
}

#[test]
fn the_json_has_the_verdict_and_what_would_come_of_it() {
    let judged = Judged::example("standard", include_bytes!("../../../../policies/standard.wasm"));
    let engine = Engine::new(judged.limits.clone()).unwrap();
    let revision = judged.load_or_explain(&engine).unwrap();
    let given = Given { failure: Failure::from_written(&json!({ "error": "timeout" })).unwrap(), then: None };
    let measured = measure(&revision, &given);
    let json = Explained::new(&judged, revision.maker().to_string(), given, measured).json();
    assert_eq!(json["verdict"]["action"], "retry");
    assert_eq!(json["outcome"]["outcome"], "retry");
    assert_eq!(json["outcome"]["wait_ms"], json["verdict"]["delay_ms"]);
    assert_eq!(json["usage"][0]["what"], "time");
    assert!(json["usage"][1]["used"].as_u64().unwrap() > 0, "{json}");
}
