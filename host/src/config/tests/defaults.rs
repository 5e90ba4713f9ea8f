use crate::route::KeySource;
use std::time::Duration;

use reprieve_sdk::{Jitter, RetryPolicy};
use serde_json::json;

use super::*;
use crate::topic::{Tier, Topic};

const SMALLEST: &str = r#"
[brokers.local]
kind = "memory"

[[routes]]
name = "orders"
broker = "local"
source = "orders"
handler = { kind = "http", url = "http://127.0.0.1:9000" }
dead_letters = { default = "orders.dlq" }
"#;

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn whatever_is_left_out_has_its_default() {
    let config = parse(SMALLEST).unwrap();
    assert_eq!(
        config.host,
        HostConfig {
            admin: ([127, 0, 0, 1], 7878).into(),
            admin_token: None,
            state: "etc/state".into(),
            park: None,
            tiers: vec![tier("30s", 30), tier("5m", 300), tier("30m", 1800)],
            shutdown_timeout: seconds(30),
        }
    );
    assert_eq!(
        config.policies,
        PoliciesConfig {
            folder: None,
            deadline: Duration::from_millis(10),
            memory: 16 << 20,
            file_size: 16 << 20,
            rescan: seconds(30),
            threads: None,
            trust: Trust::default(),
        }
    );
    assert_eq!(config.brokers["local"], BrokerConfig::Memory(MemoryConfig { capacity: 10_000 }));
    let [route] = &config.routes[..] else { panic!("one route") };
    assert_eq!(route.concurrency, 16);
    assert_eq!(route.policy, None);
    assert_eq!(route.tiers, config.host.tiers);
    assert_eq!(route.retry, RetryPolicy::default());
    assert_eq!(route.settings, json!({}));
    assert_eq!(route.header_prefix, "reprieve-");
    assert_eq!(route.requeue, RequeueConfig { cooldown: seconds(1), max_cooldown: seconds(60) });
    assert!(!route.allow_drop_on_fault);
    assert_eq!((route.max_retry_delay, route.max_interruptions), (None, None));
    let HandlerConfig::Http(http) = &route.handler else { panic!("an HTTP handler") };
    assert_eq!((http.timeout, &http.error_kind_header, http.headers.len()), (seconds(30), &None, 0));
    assert_eq!(config.warnings, []);
}

#[test]
fn with_a_token_the_admin_api_may_leave_loopback() {
    let text = with("\"127.0.0.1:7878\"", "\"0.0.0.0:7878\"\nadmin_token = \"0123456789abcdef\"");
    let host = parse(text).unwrap().host;
    assert_eq!(host.admin, ([0, 0, 0, 0], 7878).into());
    assert_eq!(host.admin_token.unwrap().expose(), "0123456789abcdef");
}

#[test]
fn whatever_is_written_is_meant() {
    let config = parse(GOOD).unwrap();
    let BrokerConfig::RabbitMq(rabbitmq) = &config.brokers["main"] else { panic!("RabbitMQ") };
    let urls: Vec<_> = rabbitmq.urls.iter().map(|url| url.expose().as_str()).collect();
    assert_eq!(urls, ["amqp://orders:hunter2@127.0.0.1:5672/%2f"]);
    assert_eq!((&rabbitmq.management, rabbitmq.consumer_timeout), (&None, seconds(1800)));
    assert!(!rabbitmq.declare);
    assert_eq!((config.policies.file_size, config.policies.rescan), (4 << 20, seconds(60)));
    let [orders, mails, rejected] = &config.routes[..] else { panic!("three routes") };
    assert_eq!(orders.concurrency, 8);
    assert_eq!(orders.policy.as_deref(), Some("by-error-kind"));
    assert_eq!(orders.dead_letters["default"], Topic::from("orders.dlq"));
    assert_eq!(
        orders.dead_letters["invalid"],
        Topic::Exchange { exchange: "parked".into(), routing_key: "orders".into() }
    );
    assert_eq!(orders.tiers, [tier("30s", 30), tier("30m", 1800)], "shortest first");
    assert_eq!(orders.header_prefix, "smsg-");
    assert_eq!(orders.requeue, RequeueConfig { cooldown: seconds(2), max_cooldown: seconds(10) });
    assert!(orders.allow_drop_on_fault);
    assert_eq!(orders.max_retry_delay, Some(seconds(20)));
    assert_eq!(
        orders.settings,
        json!({ "give_up_after": "24h", "rules": [{ "kind": "timeout", "weight": 1.5, "since": "2026-01-31" }] })
    );
    let HandlerConfig::Http(http) = &orders.handler else { panic!("an HTTP handler") };
    assert_eq!(http.headers["authorization"].expose(), "Bearer 5e");
    let HandlerConfig::Judge(judge) = &rejected.handler else { panic!("no handler") };
    assert_eq!((judge.error_header.as_deref(), judge.origin.as_deref()), (Some("error"), Some("bills")));
    let HandlerConfig::Command(command) = &mails.handler else { panic!("a command") };
    assert_eq!(command.program[1], "--fast");
    assert_eq!(command.env["TOKEN"].expose(), "s3cret");
}

#[test]
fn ordering_and_duplicates_are_read_as_they_are_written() {
    let config = parse(GOOD).unwrap();
    let orders = &config.routes[0];
    assert_eq!((&orders.ordering, orders.prefetch, &orders.deduplicate), (&None, None, &None));
    let route = |keys: &str| parse(with("concurrency = 8", keys)).unwrap().routes.remove(0);
    assert_eq!(route("ordering = \"none\"").ordering, None);
    assert_eq!(route("ordering = \"key\"").ordering, Some(KeySource::Key));
    let ordered = route("ordering = \"key\"\nkey = \"header:x-customer\"\nconcurrency = 2\nprefetch = 3");
    assert_eq!((ordered.ordering, ordered.prefetch), (Some(KeySource::Header("x-customer".to_owned())), Some(3)));
    let known = route("deduplicate = { by = \"json:/order_id\", window = \"1h\" }").deduplicate;
    let by = KeySource::Json("/order_id".to_owned());
    assert_eq!(known, Some(DeduplicateConfig { by, window: seconds(3600) }));
    assert_eq!(route("deduplicate = { by = \"id\" }").deduplicate.unwrap().window, seconds(600));
}

#[test]
fn a_key_that_nothing_is_ordered_by_is_a_warning() {
    let config = parse(with("concurrency = 8", "key = \"id\"")).unwrap();
    assert_eq!(config.warnings.len(), 1);
    assert!(config.warnings[0].message().contains("is not ordered by it"), "{}", config.warnings[0]);
}

#[test]
fn trust_is_read_as_it_is_written() {
    let digest = format!("sha256:{}", "0".repeat(64));
    let key = "RWRIEFA32+srMCoJ7r9xo23CVTZvUYlBVrLa/axPFMP2G22fRKXzEce1";
    let trust = format!("allow = [\"{digest}\"]\npublic_keys = [\"{key}\"]");
    let text = with("threads = 2", &trust).replace("concurrency = 8", &format!("policy_digest = \"{digest}\""));
    let config = parse(text).unwrap();
    let digest = digest.parse().unwrap();
    assert_eq!(config.routes[0].policy_digest.as_ref(), Some(&digest));
    let expected = Trust { allow: Some([digest].into()), public_keys: Some(vec![key.parse().unwrap()]) };
    assert_eq!(config.policies.trust, expected);
    let open = parse(GOOD.replace("threads = 2\n", "")).unwrap();
    assert!(open.policies.trust.is_open());
    let without_threads = with("threads = 2", "").replace("threads = 2\n", "");
    assert!(
        parse(with("threads = 2", &trust)).unwrap().differs_only_in_policies(&parse(without_threads).unwrap()),
        "a running host takes it"
    );
}

#[test]
fn a_route_wins_over_the_defaults_key_by_key() {
    let config = parse(GOOD).unwrap();
    assert_eq!(
        config.routes[0].retry,
        RetryPolicy {
            max_attempts: 5,
            initial_delay: seconds(1),
            max_delay: seconds(10),
            factor: 3.0,
            jitter: Jitter::Full
        }
    );
    assert_eq!(config.routes[1].retry, RetryPolicy { max_attempts: 3, jitter: Jitter::Full, ..RetryPolicy::default() });
}

#[test]
fn relative_paths_are_of_the_files_folder() {
    let config = parse(GOOD).unwrap();
    assert_eq!(config.host.state, Path::new("etc/state"));
    assert_eq!(config.policies.folder.as_deref(), Some(Path::new("etc/policies")));
    let HandlerConfig::Command(command) = &config.routes[1].handler else { panic!("a command") };
    assert_eq!(command.directory, Path::new("etc"));
    assert!(Path::new(&command.program[0]).is_absolute() && command.program[0].ends_with("/etc/send"), "{command:?}");

    let here = Config::parse(GOOD.replace("\"state\"", "\"/var/state\""), "reprieve.toml").unwrap();
    assert_eq!(here.host.state, Path::new("/var/state"));
    let HandlerConfig::Command(command) = &here.routes[1].handler else { panic!("a command") };
    assert_eq!(command.directory, Path::new("."), "a folder that a process can start in");
}

#[test]
fn secrets_are_not_in_the_debug_form() {
    let config = parse(GOOD).unwrap();
    // The text itself is kept for later messages, so the whole value must be safe to log.
    let shown = format!("{config:?}");
    for secret in ["hunter2", "5e\"", "s3cret"] {
        assert!(!shown.contains(secret), "{secret} in {shown}");
    }
}

fn tier(name: &str, delay: u64) -> Tier {
    Tier { name: name.to_owned(), delay: seconds(delay) }
}

#[test]
fn the_park_folder_is_relative_to_the_configuration_and_interruptions_are_counted_from_one() {
    let parked = format!("[host]\npark = \"parked\"\n{SMALLEST}max_interruptions = 2\n");
    let config = parse(parked).unwrap();
    assert_eq!(config.host.park, Some("etc/parked".into()));
    assert_eq!(config.routes[0].max_interruptions, Some(2));
    let error = parse(format!("{SMALLEST}max_interruptions = 0\n")).unwrap_err().to_string();
    assert!(error.contains("max_interruptions"), "{error}");
}

#[test]
fn a_broker_for_production_says_where_it_is_whom_to_trust_and_where_to_ask() {
    let rabbitmq = r#"urls = ["amqps://orders:hunter2@[2001:db8::1]/%2f", "amqps://orders:hunter2@b/%2f"]
tls = { ca = "ca.pem", certificate = "client.pem", key = "/keys/client.key" }
management = "http://watcher:hunter2@a:15672"
consumer_timeout = "1h""#;
    let config = parse(with("url = \"amqp://orders:hunter2@127.0.0.1:5672/%2f\"", rabbitmq)).unwrap();
    let BrokerConfig::RabbitMq(rabbitmq) = &config.brokers["main"] else { panic!("RabbitMQ") };
    let shown: Vec<String> = rabbitmq.urls.iter().map(ToString::to_string).collect();
    assert_eq!(shown, ["amqps://orders:***@[2001:db8::1]/%2f", "amqps://orders:***@b/%2f"]);
    assert_eq!(rabbitmq.tls.ca.as_deref(), Some(std::path::Path::new("etc/ca.pem")));
    let identity = rabbitmq.tls.identity.clone();
    assert_eq!(identity, Some(("etc/client.pem".into(), "/keys/client.key".into())));
    assert_eq!(rabbitmq.management.as_ref().unwrap().to_string(), "http://watcher:***@a:15672/");
    assert_eq!(rabbitmq.consumer_timeout, seconds(3600));
}
