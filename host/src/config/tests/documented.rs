//! docs/configuration.md has every key that the reader asks for, and no other.

use std::collections::BTreeSet;

use super::*;

/// The page, which is part of the repository and not of the package.
fn page() -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/configuration.md");
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The page's headings, what their keys begin with there, and a table with a key in it that nobody knows.
const TABLES: [(&str, &str, &str); 24] = [
    ("The file", "", "UNKNOWN = 1"),
    ("`[host]`", "", "[host]\nUNKNOWN = 1"),
    ("`[policies]`", "", "[policies]\nUNKNOWN = 1"),
    ("`[journal]`", "", "[journal]\nUNKNOWN = 1"),
    ("`[journal]`", "mask.", "[journal]\nmask = [{ UNKNOWN = 1 }]"),
    ("`[telemetry]`", "", "[telemetry]\nUNKNOWN = 1"),
    ("`[brokers.NAME]`, `kind = \"memory\"`", "", "[brokers.b]\nkind = \"memory\"\nUNKNOWN = 1"),
    ("`[brokers.NAME]`, `kind = \"rabbitmq\"`", "", "[brokers.b]\nkind = \"rabbitmq\"\nUNKNOWN = 1"),
    ("`[brokers.NAME]`, `kind = \"rabbitmq\"`", "tls.", "[brokers.b]\nkind = \"rabbitmq\"\ntls = { UNKNOWN = 1 }"),
    ("`[brokers.NAME]`, `kind = \"kafka\"`", "", "[brokers.b]\nkind = \"kafka\"\nUNKNOWN = 1"),
    ("`[brokers.NAME]`, `kind = \"narad\"`", "", "[brokers.b]\nkind = \"narad\"\nUNKNOWN = 1"),
    ("`[brokers.NAME]`, `kind = \"narad\"`", "tls.", "[brokers.b]\nkind = \"narad\"\ntls = { UNKNOWN = 1 }"),
    ("`[defaults]`", "", "[defaults]\nUNKNOWN = 1"),
    ("`[[routes]]`", "", "[[routes]]\nUNKNOWN = 1"),
    ("`[[routes]]`", "requeue.", "[[routes]]\nrequeue = { UNKNOWN = 1 }"),
    ("`[[routes]]`", "candidate.", "[[routes]]\ncandidate = { UNKNOWN = 1 }"),
    ("`[[routes]]`", "deduplicate.", "[[routes]]\ndeduplicate = { UNKNOWN = 1 }"),
    ("A dead-letter topic", "", "[[routes]]\ndead_letters = { default = { UNKNOWN = 1 } }"),
    ("`handler`, `kind = \"http\"`", "", "[[routes]]\nhandler = { kind = \"http\", UNKNOWN = 1 }"),
    ("`handler`, `kind = \"command\"`", "", "[[routes]]\nhandler = { kind = \"command\", UNKNOWN = 1 }"),
    ("`handler`, `kind = \"judge\"`", "", "[[routes]]\nhandler = { kind = \"judge\", UNKNOWN = 1 }"),
    ("`retry`", "", "[[routes]]\nretry = { UNKNOWN = 1 }"),
    ("`retry`", "", "[defaults.retry]\nUNKNOWN = 1"),
    ("A secret", "", "[host]\nadmin_token = { UNKNOWN = 1 }"),
];

#[test]
fn every_key_that_is_read_is_on_its_page_and_no_other() {
    let page = page();
    let headings: BTreeSet<&str> = page.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    assert_eq!(headings, TABLES.iter().map(|(heading, ..)| *heading).collect());
    for heading in headings {
        let known: BTreeSet<String> = TABLES
            .iter()
            .filter(|(of, ..)| *of == heading)
            .flat_map(|(_, prefix, text)| known_keys(text).into_iter().map(move |key| format!("{prefix}{key}")))
            .collect();
        assert_eq!(keys_under(&page, heading), known, "on the left what docs/configuration.md has under {heading}");
    }
}

/// The first cells of the table under a heading.
fn keys_under(page: &str, heading: &str) -> BTreeSet<String> {
    let lines = page.lines().skip_while(|line| line.strip_prefix("## ") != Some(heading)).skip(1);
    let rows = lines.take_while(|line| !line.starts_with("## ")).filter_map(|line| line.strip_prefix("| `"));
    rows.filter_map(|row| Some(row.split_once('`')?.0.to_owned())).collect()
}

/// What the reader proposes in place of a key that is like none.
fn known_keys(table: &str) -> BTreeSet<String> {
    const UNKNOWN: &str = "an-unknown-key-that-is-like-no-other";
    let error = parse(table.replace("UNKNOWN", UNKNOWN)).unwrap_err().to_string();
    let after = error.split_once(&format!("unknown key `{UNKNOWN}`")).unwrap_or_else(|| panic!("{error}")).1;
    let cure = after.split_once("= help: ").and_then(|(_, rest)| rest.lines().next()).unwrap();
    assert!(cure.starts_with("it may be `"), "{cure}");
    cure.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}
