use std::path::Path;
use std::time::Duration;

use clap::Parser;
use tempfile::TempDir;

use super::*;
use crate::policy::cases::CaseResult;
use crate::policy::cases::expectation::Difference;
use crate::policy::cases::section::{CASES_SECTION, encode};
use crate::policy::cases::{CaseTable, MAX_CASES};
use crate::policy::embedded::STANDARD;
use crate::policy::engine::{CaseRun, Level, LogLine};
use crate::policy::rejection::Problem;
use crate::verdict::{Action, Fault, FaultKind, Verdict};
use report::{Group, Outcome};

const RIGHT: &str = r#"
[[case]]
name = "a first failure is retried soon"
expect = { action = "retry", delay = "100ms" }

[[case]]
name = "five attempts are enough"
failure = { attempt = 5, error = "timeout" }
expect = { action = "dead-letter", label = "default", reason = "5" }
"#;

const WRONG_ONES: &str = r#"{
    "case": [
        { "name": "a second is dropped", "failure": { "attempt": 2 }, "expect": { "action": "drop", "reason": "never" } },
        { "name": "nobody knows this setting", "settings": { "no_such": 1 }, "expect": { "action": "drop" } }
    ]
}"#;

#[derive(Parser)]
struct Program {
    #[command(flatten)]
    arguments: TestArguments,
}

/// A folder with the standard policy in it.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        place.write("standard.wasm", STANDARD);
        place
    }

    fn with_cases() -> Self {
        let place = Self::new();
        place.write("cases/right.toml", RIGHT);
        place.write("cases/wrong.json", WRONG_ONES);
        place
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.0.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn arguments(&self, more: &[&str]) -> TestArguments {
        let policy = self.path("standard.wasm");
        Program::parse_from(["test", &policy].iter().chain(more)).arguments
    }

    /// What came of it, with made-up times.
    fn test(&self, more: &[&str]) -> Result<Report, String> {
        let arguments = self.arguments(more);
        let limits = EngineLimits { deadline: Duration::from_secs(10), ..EngineLimits::default() };
        let engine = Engine::new(limits).unwrap();
        let judged = Inputs::read(&arguments).and_then(|inputs| inputs.judge(&engine, arguments.only.as_deref()));
        let mut report = judged.map_err(|error| self.without_paths(&format!("{error:#}")))?;
        report.elapsed = Duration::from_millis(12);
        Ok(report)
    }

    fn text(&self, report: &Report) -> String {
        self.without_paths(&Text { report, style: Style::PLAIN }.to_string())
    }

    fn without_paths(&self, text: &str) -> String {
        text.replace(&self.0.path().display().to_string(), "[folder]")
    }
}

/// The standard policy with these cases in it.
fn carrying(tables: &[&str]) -> Vec<u8> {
    let tables: Vec<_> = tables.iter().map(|table| CaseTable::from_toml(table).unwrap()).collect();
    let data = encode(&tables).unwrap();
    let mut file = STANDARD.to_vec();
    let section = wasm_encoder::CustomSection { name: CASES_SECTION.into(), data: data.into() };
    wasm_encoder::Section::append_to(&section, &mut file);
    file
}

#[test]
fn the_command_explains_itself_with_an_example() {
    let command = TestArguments::augment_args(clap::Command::new("test")).term_width(100);
    command.clone().debug_assert();
    let help = command.try_get_matches_from(["test", "--help"]).unwrap_err().to_string();
    insta::assert_snapshot!("help", help);
}

#[test]
fn cases_that_hold_are_a_line_each() {
    let place = Place::with_cases();
    let report = place.test(&["--cases", &place.path("cases/right.toml")]).unwrap();
    insta::assert_snapshot!("pass", place.text(&report));
    assert_eq!(code(&report), 0);
}

#[test]
fn a_case_that_does_not_hold_shows_what_was_expected_and_what_came() {
    let place = Place::with_cases();
    let report = place.test(&[]).unwrap();
    insta::assert_snapshot!("fail", place.text(&report));
    assert_eq!(code(&report), 1);
}

#[test]
fn files_and_folders_can_be_given_together_and_cases_chosen_by_their_names() {
    let place = Place::with_cases();
    place.write("more.toml", RIGHT.replace("a first", "another first"));
    let paths = ["--cases", &place.path("more.toml"), "--cases", &place.path("cases")];
    let report = place.test(&[&paths[..], &["--only", "first"]].concat()).unwrap();
    insta::assert_snapshot!("only", place.text(&report));
    assert_eq!(
        place.test(&[&paths[..], &["--only", "First"]].concat()).err().unwrap(),
        "none of the 6 cases has \"First\" in its name"
    );
}

#[test]
fn the_cases_that_the_file_carries_come_before_those_of_a_folder() {
    let place = Place::with_cases();
    let failing = RIGHT.replace("100ms", "7s");
    place.write("standard.wasm", carrying(&[RIGHT, &failing]));
    let report = place.test(&[]).unwrap();
    insta::assert_snapshot!("carried", place.text(&report));
}

#[test]
fn a_policy_that_fails_its_own_cases_can_still_be_tested_by_others() {
    let place = Place::with_cases();
    place.write("standard.wasm", carrying(&[&RIGHT.replace("100ms", "7s")]));
    let report = place.test(&["--cases", &place.path("cases/right.toml")]).unwrap();
    assert_eq!((report.passed(), report.failed()), (2, 0));
}

#[test]
fn no_cases_are_an_error_and_not_a_pass() {
    let place = Place::new();
    let error = place.test(&[]).err().unwrap();
    assert!(error.starts_with("no cases: [folder]/standard.wasm carries none, and there is no folder"), "{error}");
    place.write("cases/README.md", "nothing");
    let error = place.test(&[]).err().unwrap();
    assert_eq!(error, "no cases: [folder]/cases holds no file that ends in .toml or .json");
}

#[test]
fn every_file_that_is_wrong_is_told_with_its_place() {
    let place = Place::with_cases();
    place.write("cases/late.toml", "[[case]]\nname = late\n");
    place.write("cases/odd.toml", "[[case]]\nname = \"odd\"\nexpect = { action = \"retry\", tier = \"5m\" }\n");
    insta::assert_snapshot!("wrong_files", place.test(&[]).err().unwrap());
    let error = place.test(&["--cases", &place.path("none.toml")]).err().unwrap();
    assert!(error.starts_with("cannot read [folder]/none.toml: No such file"), "{error}");
}

#[test]
fn a_file_that_is_no_policy_is_no_failed_case() {
    let place = Place::with_cases();
    place.write("standard.wasm", "not a policy");
    let error = place.test(&[]).err().unwrap();
    assert!(error.starts_with("[folder]/standard.wasm cannot be tested: the file is not WebAssembly"), "{error}");
    assert_eq!(test(&place.arguments(&[])).unwrap(), ExitCode::from(2));
}

#[test]
fn cases_that_cannot_be_read_in_the_file_are_told_of() {
    let place = Place::new();
    let mut file = STANDARD.to_vec();
    let section = wasm_encoder::CustomSection { name: CASES_SECTION.into(), data: b"[{}]".into() };
    wasm_encoder::Section::append_to(&section, &mut file);
    place.write("standard.wasm", file);
    assert_eq!(
        place.test(&[]).err().unwrap(),
        "the cases that [folder]/standard.wasm carries cannot be used: it has no cases; write [[case]] above each"
    );
}

#[test]
fn a_thousand_cases_are_judged() {
    let place = Place::new();
    let case = |n| format!("[[case]]\nname = \"{n}\"\nexpect.action = \"retry\"\n");
    place.write("cases/many.toml", (0..MAX_CASES).map(case).collect::<String>());
    let report = place.test(&[]).unwrap();
    assert_eq!((report.passed(), report.failed()), (MAX_CASES, 0));
}

#[test]
fn results_are_written_for_a_build_server_also_when_cases_fail() {
    let place = Place::with_cases();
    let junit = place.path("results.xml");
    assert_eq!(test(&place.arguments(&["--junit", &junit, "--json"])).unwrap(), ExitCode::from(1));
    let written = fs::read_to_string(Path::new(&junit)).unwrap();
    assert!(written.contains(r#"<testsuites name="standard" tests="4" failures="1" errors="1""#), "{written}");
    let nowhere = place.path("no/such/folder.xml");
    assert_eq!(test(&place.arguments(&["--junit", &nowhere])).unwrap(), ExitCode::from(2));
}

/// A report with every kind of result in it.
fn every_result() -> Report {
    let run = |result| CaseRun { result, log: Vec::new(), withheld: 0, elapsed: Duration::from_micros(1500) };
    let line = |level, text: &str| LogLine { level, text: text.to_owned() };
    let outcome = |name: &str, run| Outcome { name: name.to_owned(), run };
    let difference = |field: &str, expected: &str, got: &str| Difference {
        field: field.to_owned(),
        expected: expected.to_owned(),
        got: got.to_owned(),
    };
    let mut verdict = Verdict::new(Action::Delay { delay_ms: 90_000 }, "the tenant <acme> asked for \"time\"");
    verdict.headers.push(("tenant".into(), "acme".into()));
    verdict.pause_intake = Some(60_000);
    let differs = CaseResult::Differs {
        differences: vec![difference("action", "retry", "delay"), difference("header colour", "red", "absent")],
        verdict: Box::new(verdict),
    };
    let logging = CaseRun {
        log: vec![line(Level::Info, "looking"), line(Level::Warn, "& seeing \u{1b}[31m")],
        withheld: 3,
        ..run(differs)
    };
    let passed = CaseResult::Passed(Box::new(Verdict::new(Action::Drop, "")));
    let refused = CaseResult::Refused(vec![
        Problem { path: "/rules/0".into(), message: "no such kind".into() },
        Problem { path: String::new(), message: "too many rules".into() },
    ]);
    let fault = |kind, text: &str| Fault::new(kind, text);
    Report {
        file: "build/orders.wasm".into(),
        name: "orders".into(),
        groups: vec![
            Group {
                file: "cases/a.toml".into(),
                carried: false,
                outcomes: vec![outcome("it is dropped", run(passed)), outcome("time & again", logging)],
            },
            Group {
                file: "cases/b.json".into(),
                carried: false,
                outcomes: vec![
                    outcome("its settings are\nodd", run(refused)),
                    outcome("it traps early", run(CaseResult::NotConfigured(fault(FaultKind::Trap, "unreachable")))),
                    outcome("it is slow", run(CaseResult::Faulted(fault(FaultKind::Timeout, "not done within 10ms")))),
                ],
            },
        ],
        left_out: 2,
        note: None,
        elapsed: Duration::from_millis(1234),
    }
}

#[test]
fn every_result_has_its_form_for_people_for_programs_and_for_build_servers() {
    let report = every_result();
    insta::assert_snapshot!("text", Text { report: &report, style: Style::PLAIN });
    insta::assert_snapshot!("json", format!("{:#}", json::json(&report)));
    insta::assert_snapshot!("junit", junit::Junit(&report));
}
