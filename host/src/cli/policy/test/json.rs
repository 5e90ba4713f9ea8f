//! The results for programs.

use serde_json::{Value, json};

use super::report::{Outcome, Report};
use crate::policy::cases::CaseResult;

/// One object: totals, and each case with its verdict, or what came in its place.
pub(super) fn json(report: &Report) -> Value {
    let groups = report
        .groups
        .iter()
        .map(|group| json!({ "file": group.file, "carried": group.carried, "cases": group.outcomes.iter().map(case).collect::<Vec<_>>() }));
    json!({
        "policy": report.file,
        "passed": report.passed(),
        "failed": report.failed(),
        "left_out": report.left_out,
        "elapsed_ms": millis(report.elapsed),
        "groups": groups.collect::<Vec<_>>(),
    })
}

fn case(outcome: &Outcome) -> Value {
    let Outcome { name, run } = outcome;
    let mut case =
        json!({ "name": name, "passed": outcome.passed(), "elapsed_ms": millis(run.elapsed), "log": run.log });
    let mut set = |key: &str, value: Value| case[key] = value;
    if run.withheld > 0 {
        set("log_withheld", json!(run.withheld));
    }
    if let Some(verdict) = run.result.verdict() {
        set("verdict", json!(verdict));
    }
    match &run.result {
        CaseResult::Passed(_) => {}
        CaseResult::Differs { differences, .. } => set("differences", json!(differences)),
        CaseResult::Refused(problems) => set("problems", json!(problems)),
        CaseResult::NotConfigured(fault) | CaseResult::Faulted(fault) => set("fault", json!(fault)),
    }
    case
}

/// To a microsecond.
fn millis(time: std::time::Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}
