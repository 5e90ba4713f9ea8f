//! The SDK's cookbook: every recipe, built to WebAssembly, is a policy that the host takes with the settings it shows.

use std::path::Path;
use std::time::Duration;

use reprieve::policy::engine::{Candidate, Engine, EngineLimits};
use reprieve::policy::route_record::RouteRecord;
use reprieve::topic::Tier;
use reprieve_sdk::RetryPolicy;
use serde_json::{Value, json};

use crate::{built, generated};

const RECIPES: usize = 12;

#[test]
fn every_recipe_is_loaded_with_the_settings_that_it_shows_and_judges_1_000_failures() {
    let engine = Engine::new(EngineLimits { deadline: Duration::from_secs(10), ..EngineLimits::default() }).unwrap();
    let cookbook = cookbook();
    let sections: Vec<_> = cookbook.split("\n## ").skip(1).collect();
    assert_eq!(sections.len(), RECIPES);
    for (index, section) in sections.iter().enumerate() {
        let title = section.lines().next().unwrap();
        let bytes = built(&format!("test-policies/cookbook/{:02}.wasm", index + 1));
        let candidate = Candidate { name: "recipe", bytes: &bytes, route: &route(), settings: &settings(section) };
        let revision = engine.load(&candidate).unwrap_or_else(|why| panic!("{title}: {why}"));
        for failure in generated::failures(index as u64).take(1_000) {
            let verdict =
                revision.decide(&failure).unwrap_or_else(|fault| panic!("{title}: {fault}: {}", json!(failure)));
            assert!(!verdict.reason.is_empty(), "{title}: {}", json!(failure));
        }
    }
}

#[test]
fn every_entry_of_its_table_of_contents_leads_to_a_recipe_of_that_name() {
    let cookbook = cookbook();
    let titles: Vec<_> = cookbook.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    let entries: Vec<_> = cookbook.lines().filter(|line| line.contains("](#")).collect();
    let expected: Vec<_> = titles.iter().map(|title| contents_entry(title)).collect();
    assert_eq!(entries, expected);
}

/// As GitHub makes the link of a heading.
fn contents_entry(title: &str) -> String {
    let (number, name) = title.split_once(". ").unwrap();
    let kept = title.to_lowercase().chars().filter(|c| c.is_alphanumeric() || " -".contains(*c)).collect::<String>();
    format!("{number}. [{name}](#{})", kept.replace(' ', "-"))
}

fn cookbook() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugin-sdk/docs/cookbook.md");
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What a recipe's TOML gives as the route's settings.
fn settings(section: &str) -> Value {
    let Some((_, rest)) = section.split_once("\n```toml\n") else { return json!({}) };
    let (text, _) = rest.split_once("\n```").expect("the block ends");
    let document: Value = toml::from_str(text).unwrap_or_else(|error| panic!("{error} in\n{text}"));
    document.pointer("/routes/settings").cloned().unwrap_or(json!({}))
}

/// A route that has what any of the recipes asks for.
fn route() -> RouteRecord {
    RouteRecord {
        name: "orders".to_owned(),
        source: "orders".to_owned(),
        tiers: vec![Tier { name: "5m".to_owned(), delay: Duration::from_secs(300) }],
        dead_letters: ["default", "invalid", "poison"].map(str::to_owned).to_vec(),
        retry: RetryPolicy { max_attempts: 5, ..RetryPolicy::default() },
        max_retry_delay: Duration::from_secs(60),
        max_body: 4096,
    }
}
