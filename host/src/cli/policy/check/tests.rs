use std::fmt::Write as _;
use std::fs;

use clap::Parser;
use wasm_encoder::{CustomSection, Section as _};

use super::super::judged::{Judged, JudgedArguments};
use super::steps::{Mark, Report, Step};
use super::*;
use crate::policy::cases::CaseTable;
use crate::policy::cases::section::{CASES_SECTION, encode};
use crate::policy::embedded::{BY_ERROR_KIND, STANDARD};

#[derive(Debug, Parser)]
struct Command {
    #[command(flatten)]
    judged: JudgedArguments,
}

/// What a check of this file finds, with these other files beside it.
fn check_file(policy: &[u8], files: &[(&str, &str)], arguments: &[&str]) -> (Report, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    fs::write(path("strict.wasm"), policy).unwrap();
    for (name, text) in files {
        fs::write(path(name), text).unwrap();
    }
    let is_file = |argument: &&str| files.iter().any(|(name, _)| name == argument);
    let arguments =
        arguments.iter().map(|argument| if is_file(argument) { path(argument) } else { (*argument).into() });
    let command = Command::parse_from(["check".to_owned(), path("strict.wasm")].into_iter().chain(arguments));
    let judged: Judged = command.judged.read().unwrap();
    let report = examine(&judged, &Engine::new(judged.limits.clone()).unwrap());
    let mut text = View { report: &report, style: Style::PLAIN }.to_string();
    for trouble in &report.troubles {
        write!(text, "\n{trouble}\n").unwrap();
    }
    // The committed policies are built anew now and then.
    let digest =
        format!("{:.12}", crate::policy::inspection::Inspection::of(policy).map_or(String::new(), |i| i.digest));
    let text = text.replace(&format!("{}/", folder.path().display()), "");
    let text = if digest.is_empty() { text } else { text.replace(&digest, "(digest)") };
    (report, text)
}

fn mark(report: &Report, step: Step) -> Mark {
    report.steps.iter().find(|line| line.step == step).unwrap().result
}

#[test]
fn a_policy_that_is_right_passes_every_step() {
    for policy in [STANDARD, BY_ERROR_KIND] {
        let (report, text) = check_file(policy, &[], &[]);
        assert!(report.right && report.troubles.is_empty(), "{text}");
        let steps: Vec<_> = report.steps.iter().map(|line| line.step).collect();
        assert_eq!(steps, Step::ALL, "each step is told once and in order");
        assert!(report.steps.iter().skip(1).all(|line| line.result == Mark::Passed), "{text}");
        assert_eq!(mark(&report, Step::Trust), Mark::NotReached, "no configuration says whom it trusts");
        let exported = text.split_once("; exports ").and_then(|(_, text)| text.split_once("; imports "));
        let mut exported: Vec<_> = exported.map_or("", |(exported, _)| exported).split(", ").collect();
        exported.sort_unstable();
        assert_eq!(exported, ["configure", "decide", "describe"], "{text}");
    }
}

#[test]
fn what_is_no_policy_is_said_with_its_cure() {
    let (report, text) = check_file(b"hello there", &[], &[]);
    assert!(!report.right);
    insta::assert_snapshot!(text);
}

#[test]
fn a_module_that_is_no_policy_is_a_file_all_the_same() {
    let (report, text) = check_file(b"\0asm\x01\0\0\0", &[], &[]);
    assert_eq!((mark(&report, Step::File), mark(&report, Step::Interface)), (Mark::Passed, Mark::Failed), "{text}");
    assert_eq!(mark(&report, Step::Purity), Mark::NotReached);
}

#[test]
fn a_policy_that_fails_a_case_that_it_carries_is_refused_and_the_case_named() {
    let cases = CaseTable::from_toml("[[case]]\nname = 'never'\nexpect = { action = 'drop' }").unwrap();
    let mut policy = STANDARD.to_vec();
    CustomSection { name: CASES_SECTION.into(), data: encode(&[cases]).unwrap().into() }.append_to(&mut policy);
    let (report, text) = check_file(&policy, &[], &[]);
    assert_eq!(
        (report.right, mark(&report, Step::Description), mark(&report, Step::Cases)),
        (false, Mark::Passed, Mark::Failed)
    );
    assert_eq!(mark(&report, Step::Settings), Mark::NotReached);
    let steps: Vec<_> = report.steps.iter().map(|line| line.step).collect();
    assert_eq!(steps, Step::ALL);
    assert!(text.contains("fails its own case \"never\": action is"), "{text}");
}

const CONFIG: &str = "[brokers.local]\nkind = \"memory\"\n\n[[routes]]\nname = \"mails\"\nbroker = \"local\"\nsource = \"mails\"\n\
    handler = { kind = \"command\", program = [\"true\"] }\n";

#[test]
fn a_file_that_the_configuration_does_not_trust_is_not_even_compiled() {
    let trusting = |policies: &str| {
        let config = format!("[policies]\nfolder = \".\"\n{policies}\n{CONFIG}");
        check_file(STANDARD, &[("reprieve.toml", &config)], &["--config", "reprieve.toml"])
    };
    let (report, text) = trusting(&format!("allow = [\"sha256:{}\"]", "0".repeat(64)));
    assert_eq!((report.right, mark(&report, Step::Trust)), (false, Mark::Failed), "{text}");
    assert_eq!(mark(&report, Step::File), Mark::NotReached);
    assert!(text.contains("not on the list of allowed policies"), "{text}");
    let (report, text) = trusting("");
    assert_eq!((report.right, mark(&report, Step::Trust)), (true, Mark::Passed), "{text}");
}

const WRONG_SETTINGS: &str = "give_up = '24h'\n\n[[rules]]\nkinds = []\n";

#[test]
fn settings_are_judged_by_the_policy_and_by_its_schema_where_they_are_written() {
    let (report, text) = check_file(STANDARD, &[("settings.toml", WRONG_SETTINGS)], &["--settings", "settings.toml"]);
    assert_eq!((report.right, mark(&report, Step::Settings)), (false, Mark::Failed));
    assert_eq!(mark(&report, Step::Decisions), Mark::NotReached);
    let problems = text.split_once("\n\nerror").map_or(text.as_str(), |(_, problems)| problems);
    // Which settings there are is the policy's matter, and changes with it.
    let lines = problems.lines().map(|line| line.split(", expected one of").next().unwrap_or_default());
    insta::assert_snapshot!(format!("error{}", lines.collect::<Vec<_>>().join("\n")));
}

#[test]
fn settings_in_json_and_in_a_configuration_are_pointed_at_too() {
    let json = "{\n  \"rules\": [\n    { \"kinds\": [] }\n  ]\n}\n";
    let (report, text) = check_file(STANDARD, &[("settings.json", json)], &["--settings", "settings.json"]);
    assert!(!report.right && text.contains("settings.json:3:7"), "{text}");
    let config = format!("{CONFIG}\n[routes.settings]\nwhen = 5\n");
    let (report, text) = check_file(STANDARD, &[("reprieve.toml", &config)], &["--config", "reprieve.toml"]);
    assert!(!report.right && text.contains("reprieve.toml:11:1"), "{text}");
    assert!(text.starts_with("strict on route mails"), "{text}");
}

#[test]
fn the_report_in_json_names_each_step_and_each_place() {
    let (report, _) = check_file(STANDARD, &[("settings.toml", WRONG_SETTINGS)], &["--settings", "settings.toml"]);
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(
        (&json["right"], &json["steps"][1]["step"], &json["steps"][1]["result"]),
        (&false.into(), &"file".into(), &"passed".into())
    );
    let settings = json["problems"].as_array().unwrap();
    assert!(
        settings.iter().any(|problem| problem["setting"]["pointer"] == "/give_up" && problem["setting"]["line"] == 1),
        "{json}"
    );
}
