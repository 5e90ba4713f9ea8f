//! The policy interface as it was released: what was built against it loads, is told the same and answers the same,
//! whatever the host has become since.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use reprieve::failure::{Failure, attribute};
use reprieve::policy::engine::{Candidate, Engine, EngineLimits, INTERFACE_VERSION, Revision};
use reprieve::policy::rejection::Rejection;
use reprieve::policy::route_record::RouteRecord;
use reprieve::topic::Tier;
use reprieve::verdict::Verdict;
use reprieve_sdk::{Jitter, RetryPolicy};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What the policy answered when the version was released, for either of its settings.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Recorded {
    everything: Vec<Verdict>,
    little: Vec<Verdict>,
}

#[test]
fn the_policy_of_every_released_version_gives_the_verdicts_that_it_gave_then() {
    for folder in released() {
        let failures: Vec<Failure> = read_json(&folder.join("failures.json"));
        let decide = |settings: Value| {
            let revision = load(&folder, &settings).unwrap_or_else(|why| panic!("{}: {why}", folder.display()));
            failures.iter().map(|failure| revision.decide(failure).expect("a verdict")).collect()
        };
        let now = Recorded { everything: decide(json!("everything")), little: decide(json!("little")) };
        let then: Recorded = read_json(&folder.join("verdicts.json"));
        assert_eq!(now, then, "{}: now it answers\n{}", folder.display(), serde_json::to_string_pretty(&now).unwrap());
    }
}

#[test]
fn the_policy_of_every_released_version_can_refuse_its_settings() {
    for folder in released() {
        let rejection = load(&folder, &json!("refuse")).unwrap_err();
        let Rejection::Settings(problems) = rejection else { panic!("{}: {rejection}", folder.display()) };
        let problems: Vec<_> = problems.iter().map(|problem| (&*problem.path, &*problem.message)).collect();
        assert_eq!(problems, [("/refuse", "told to"), ("", "as a whole")]);
    }
}

#[test]
fn the_policy_of_every_released_version_can_say_what_it_is() {
    for folder in released() {
        let revision = load(&folder, &Value::Null).unwrap();
        let description = revision.description();
        assert_eq!((&*description.name, &*description.version), ("frozen-policy", "1.2.3"));
        assert!(description.summary.starts_with("Answers with all that it was told"), "{}", description.summary);
        assert_eq!(description.settings_schema, Some(json!({"type": "object"})));
    }
}

#[test]
fn the_version_of_this_host_is_a_released_one_and_the_sdk_has_the_same_types() {
    let released = root().join("frozen").join(INTERFACE_VERSION).join("wit/policy.wit");
    let sdk = root().join("../plugin-sdk/wit/policy.wit");
    let [released, sdk] = [released, sdk]
        .map(|path| fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())));
    assert!(
        types(&released) == types(&sdk),
        "plugin-sdk/wit/policy.wit has other types than version {INTERFACE_VERSION} as it was released: take the change \
         back, or give it a version of its own as plugin-sdk/wit/README.md says"
    );
}

#[test]
fn every_attribute_is_documented_beside_the_interface() {
    let path = root().join("../plugin-sdk/wit/README.md");
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let documented: Vec<_> =
        text.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`')).map(|(name, _)| name).collect();
    assert_eq!(documented, attribute::ALL);
}

#[test]
fn comments_and_line_breaks_are_no_part_of_the_types_and_all_else_is() {
    let wit = "/// A tier.\nrecord tier {\n    name: string, // as written\n    delay: u64,\n}";
    assert_eq!(types(wit), types("record tier {\nname: string,\ndelay:\n  u64,\n}"));
    for other in [wit.replace("u64", "u32"), wit.replace("delay", "wait"), wit.replace("delay: u64,", "")] {
        assert_ne!(types(wit), types(&other));
    }
}

/// A WIT file without comments and with single spaces.
fn types(wit: &str) -> String {
    let code = wit.lines().map(|line| line.split_once("//").map_or(line, |(code, _)| code));
    code.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The folder of each released version.
fn released() -> Vec<PathBuf> {
    let folders: Vec<_> = fs::read_dir(root().join("frozen")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(!folders.is_empty());
    folders
}

fn read_json<T: for<'de> Deserialize<'de>>(path: &Path) -> T {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn load(folder: &Path, settings: &Value) -> Result<Revision, Rejection> {
    let bytes = fs::read(folder.join("policy.wasm")).unwrap();
    // With a deadline that no decision misses, however busy the machine is.
    let engine = Engine::new(EngineLimits { deadline: Duration::from_secs(10), ..EngineLimits::default() }).unwrap();
    engine.load(&Candidate { name: "frozen", bytes: &bytes, route: &route(), settings })
}

fn route() -> RouteRecord {
    let tier = |name: &str, seconds| Tier { name: name.to_owned(), delay: Duration::from_secs(seconds) };
    RouteRecord {
        name: "orders".to_owned(),
        source: "orders.new".to_owned(),
        tiers: vec![tier("30s", 30), tier("5m", 300)],
        dead_letters: vec!["default".to_owned(), "invalid".to_owned()],
        retry: RetryPolicy {
            max_attempts: 5,
            initial_delay: Duration::from_millis(250),
            max_delay: Duration::from_secs(20),
            factor: 1.5,
            jitter: Jitter::Equal,
        },
        max_retry_delay: Duration::from_secs(60),
        max_body: 4096,
    }
}
