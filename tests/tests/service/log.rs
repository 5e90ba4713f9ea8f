//! The fields of JSON log lines that docs/operations.md promises.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::place::{Place, ROUTE};
use crate::wait_for;

const OPERATIONS: &str = include_str!("../../../docs/operations.md");

/// The fields that the table under "Logs" names, for the message of a line.
fn promised(message: &str) -> BTreeSet<String> {
    let row = OPERATIONS.lines().find(|line| line.starts_with(&format!("| `{message}` |")));
    let row = row.unwrap_or_else(|| panic!("docs/operations.md says nothing of {message:?}"));
    let fields = row.split('|').nth(2).expect("a second column");
    fields.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn fields(line: &Value) -> BTreeSet<String> {
    let every = ["timestamp", "level", "target", "message"];
    let object = line.as_object().expect("an object");
    assert!(every.iter().all(|name| object[*name].is_string()), "{line}");
    object.keys().filter(|name| !every.contains(&name.as_str())).cloned().collect()
}

#[test]
fn json_lines_have_the_fields_that_the_operators_guide_promises() {
    let failing = ROUTE.replace("[\"true\"]", "[\"sh\", \"-c\", \"echo broken >&2; exit 1\"]");
    let failing = format!("{failing}retry = {{ max_attempts = 2, initial_delay = \"1ms\" }}\n");
    let place = Place::new("", &failing);
    let program = place.run(&[], &[]);
    let config = std::fs::read_to_string(place.path("reprieve.toml")).unwrap();
    place.write("reprieve.toml", config.replace("127.0.0.1:0", &program.admin.to_string()));
    program.wait_for_line("ready: every route takes messages");
    assert_eq!(place.call(&["send", "orders", "an order"], &[]).0, Some(0));
    wait_for("the dead letter", || program.log().contains("dead-lettered").then_some(()));

    for message in ["starting", "policy loaded", "consuming", "attempt failed", "retry scheduled", "dead-lettered"] {
        let line = program.wait_for_line(message);
        let (has, promised) = (fields(&line), promised(message));
        // `overridden` is there only where an outcome differs from its verdict, `signed_by` where signatures are demanded.
        assert!(has.is_subset(&promised), "{message}: {has:?} is more than {promised:?}");
        let missing: Vec<_> =
            promised.difference(&has).filter(|name| !["overridden", "signed_by"].contains(&name.as_str())).collect();
        assert!(missing.is_empty(), "{message}: {missing:?} is promised; {line}");
    }
    program.stop();
}

#[test]
fn a_level_that_is_none_is_refused_with_those_that_are() {
    let (code, text) = Place::new("", ROUTE).call(&["run", "--log", "loud"], &[]);
    assert_eq!(code, Some(2));
    assert!(text.contains("\"loud\" is no level; write off, error, warn, info, debug, trace"), "{text}");
}
