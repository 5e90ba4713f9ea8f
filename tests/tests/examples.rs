//! The configurations in `examples/` are right, and do what their READMEs say.

use std::path::PathBuf;

use reprieve::config::{BrokerConfig, Config};

fn example(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../examples")).join(name).join("reprieve.toml")
}

#[test]
fn every_example_is_a_right_configuration() {
    for name in ["quickstart", "judge", "kafka", "narad"] {
        match Config::load(example(name)) {
            Ok(config) => assert!(config.warnings.is_empty(), "{name}: {:?}", config.warnings),
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn the_quickstart_runs_on_rabbitmq_by_changing_two_lines() {
    let text = std::fs::read_to_string(example("quickstart")).unwrap();
    let mut changed = 0;
    let lines = text.lines().map(|line| {
        let new = match line {
            _ if line.starts_with("kind = \"memory\"") => "kind = \"rabbitmq\"",
            _ if line.starts_with("# url = ") => &line[2..],
            _ => return line,
        };
        changed += 1;
        new
    });
    let text = lines.collect::<Vec<_>>().join("\n");
    assert_eq!(changed, 2);
    let config = Config::parse(text, "reprieve.toml").unwrap_or_else(|error| panic!("{error}"));
    assert!(matches!(config.brokers["main"], BrokerConfig::RabbitMq(_)));
}
