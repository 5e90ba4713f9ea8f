use super::*;
use crate::policy::embedded::STANDARD;
use crate::policy::engine::EngineLimits;

/// A measurement in which every number is known.
fn measurement() -> Measurement {
    let limits = EngineLimits::default();
    let mut times = vec![8_200; 9_000];
    times.extend([11_000; 900]);
    times.extend([24_000; 90]);
    times.extend([6_000_000; 10]);
    Measurement {
        maker: "my-policy@0123456789ab".into(),
        failure: ordinary_failure().unwrap(),
        decisions: times.len(),
        latency: Latency::new(times).unwrap(),
        faults: 0,
        fault: None,
        one_thread: 101_234.5,
        two_threads: 190_320.8,
        load: Duration::from_millis(213),
        instructions: Some(12_345),
        memory: Usage::memory(17 << 16, &limits, false),
        file: Usage::file_size(52_000, &limits),
        deadline: limits.deadline,
    }
}

#[test]
fn what_decisions_cost_is_drawn() {
    let text = View { measurement: &measurement(), style: Style::PLAIN }.to_string();
    // Said of the program that measured, which in tests is one for debugging.
    let text = text.split("\nThis is a debug build").next().unwrap_or_default();
    insta::assert_snapshot!(text);
}

#[test]
fn decisions_without_a_verdict_are_told_first() {
    let faulty = Measurement { faults: 10_000, fault: Some("trap: unreachable".into()), ..measurement() };
    let text = View { measurement: &faulty, style: Style::PLAIN }.to_string();
    assert!(text.lines().nth(2).is_some_and(|line| line.contains("10 000 of them gave no verdict: trap")), "{text}");
}

#[test]
fn a_time_over_the_deadline_is_marked_and_explained_where_none_missed_it() {
    let late = Measurement { latency: Latency::new(vec![8_000, 64_000_000]).unwrap(), ..measurement() };
    let text = View { measurement: &late, style: Style::PLAIN }.to_string();
    assert!(
        text.contains("640 %  ████████████████████  over\n") && text.contains("None missed the deadline"),
        "{text}"
    );
}

#[test]
fn memory_that_stopped_the_policy_is_marked() {
    let memory = Usage::memory(1 << 20, &EngineLimits::default(), true);
    let text = View { measurement: &Measurement { memory, ..measurement() }, style: Style::PLAIN }.to_string();
    let row = text.lines().find(|line| line.starts_with("  memory "));
    assert!(row.is_some_and(|row| row.ends_with("over: no verdict")), "{text}");
}

#[test]
fn all_decisions_are_told_and_how_many_of_them_the_times_are_of() {
    let long = Measurement { decisions: 5_000_000, ..measurement() };
    let text = View { measurement: &long, style: Style::PLAIN }.to_string();
    assert!(text.contains("5 000 000 decisions\n"), "{text}");
    assert!(text.contains("The times are those of the first 10 000."), "{text}");
    let json = long.json(&Judged::example("standard", STANDARD));
    assert_eq!((&json["decisions"], &json["timed"]), (&5_000_000.into(), &10_000.into()));
}

#[test]
fn a_real_policy_is_measured() {
    let judged = Judged::example("standard", STANDARD);
    let measured = measure(&judged, ordinary_failure().unwrap(), Times::new(Duration::from_millis(50))).unwrap();
    assert_eq!((measured.faults, measured.fault.as_deref()), (0, None));
    let json = measured.json(&judged);
    let number = |pointer: &str| json.pointer(pointer).and_then(serde_json::Value::as_f64).unwrap_or(-1.0);
    assert!(number("/latency_ns/p50") > 0.0 && number("/latency_ns/p50") <= number("/latency_ns/max"), "{json}");
    assert!(number("/instructions") > 100.0 && number("/per_second/two_threads") > 0.0, "{json}");
    assert!(number("/usage/0/used") >= 65_536.0, "memory is given in pages: {json}");
}

#[test]
fn the_failure_that_is_measured_with_has_eight_headers() {
    let failure = ordinary_failure().unwrap();
    assert_eq!((failure.message.headers.len(), failure.error.status), (8, Some(503)));
}
