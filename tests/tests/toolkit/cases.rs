//! `reprieve policy test`: whether a policy's verdicts are the expected ones.

use serde_json::Value;

use crate::folder::Folder;

const RIGHT: &str = r#"
[[case]]
name = "five attempts are enough"
failure = { attempt = 5, error = "timeout" }
expect = { action = "dead-letter" }
"#;

const WRONG: &str = r#"
[[case]]
name = "a first <failure> is dropped"
expect = { action = "drop" }
"#;

fn with(files: &[(&str, &str)]) -> Folder {
    let folder = Folder::new();
    for (name, content) in files {
        folder.write(name, content);
    }
    folder
}

#[test]
fn cases_that_pass_are_listed_and_the_command_succeeds() {
    let folder = with(&[("cases/right.toml", RIGHT)]);
    let out = folder.reprieve("", &["policy", "test", "standard"]).succeeded();
    assert!(out.contains("  ok      five attempts are enough\n"), "{out}");
    assert!(out.contains("1 passed, 0 failed in "), "{out}");
}

#[test]
fn a_case_that_fails_shows_what_was_expected_and_what_came() {
    let folder = with(&[("right.toml", RIGHT), ("wrong.toml", WRONG)]);
    let said = folder.reprieve("", &["policy", "test", "standard", "--cases", "right.toml", "--cases", "wrong.toml"]);
    assert_eq!((said.code, said.err.as_str()), (Some(1), ""), "{}", said.out);
    for words in
        ["  ok      five", "  FAILED  a first <failure>", "expected  drop", "got       retry", "1 passed, 1 failed"]
    {
        assert!(said.out.contains(words), "{words:?} in {}", said.out);
    }
}

#[test]
fn without_cases_there_is_nothing_to_pass() {
    let error = Folder::new().reprieve("", &["policy", "test", "standard"]).failed(2);
    assert!(error.contains("no cases: standard carries none") && error.contains("--cases PATH"), "{error}");
    let folder = with(&[("cases/right.toml", RIGHT)]);
    let error = folder.reprieve("", &["policy", "test", "standard", "--only", "tenant"]).failed(2);
    assert!(error.contains("none of the 1 cases has \"tenant\" in its name"), "{error}");
}

#[test]
fn every_broken_file_of_cases_is_named_before_any_case_is_judged() {
    let unknown = WRONG.replace("expect", "expects");
    let folder = with(&[("cases/right.toml", RIGHT), ("cases/a.toml", "[[case]"), ("cases/b.toml", &unknown)]);
    let error = folder.reprieve("", &["policy", "test", "standard"]).failed(2);
    assert!(error.contains("cases/a.toml") && error.contains("cases/b.toml"), "{error}");
    assert!(error.contains("expects") && !error.contains("right.toml"), "{error}");
}

#[test]
fn programs_get_json_and_build_servers_junit() {
    let folder = with(&[("cases/right.toml", RIGHT), ("cases/wrong.toml", WRONG)]);
    let said = folder.reprieve("", &["policy", "test", "standard", "--json", "--junit", "results.xml"]);
    assert_eq!((said.code, said.err.as_str()), (Some(1), ""), "{}", said.out);
    let results: Value = serde_json::from_str(&said.out).expect("JSON and nothing else");
    assert_eq!((&results["passed"], &results["failed"]), (&1.into(), &1.into()), "{results}");
    assert_eq!(results.pointer("/groups/1/cases/0/verdict/action"), Some(&"retry".into()), "{results}");

    let xml = folder.read("results.xml");
    assert_eq!(open_elements(&xml), Vec::<&str>::new(), "{xml}");
    assert!(xml.starts_with("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"standard\" "), "{xml}");
    assert!(xml.contains(r#"tests="2" failures="1" errors="0""#), "{xml}");
    assert!(xml.contains("a first &lt;failure&gt; is dropped") && xml.contains("<failure message="), "{xml}");
}

/// The elements that are not closed; none in a file that is well formed. Text and attributes hold no `<` or `>` there.
fn open_elements(xml: &str) -> Vec<&str> {
    let mut open = Vec::new();
    for part in xml.split('<').skip(1) {
        let (tag, text) = part.split_once('>').unwrap_or_else(|| panic!("a tag without an end: {part}"));
        assert!(!text.contains('>') && tag.matches('"').count().is_multiple_of(2), "<{part}");
        let name = tag.split_whitespace().next().unwrap_or_default();
        match name.strip_prefix('/') {
            Some(closed) => assert_eq!(open.pop(), Some(closed), "{xml}"),
            None if tag.starts_with('?') || tag.ends_with('/') => {}
            None => open.push(name),
        }
    }
    open
}
