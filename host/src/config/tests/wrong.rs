use std::fs;

use insta::assert_snapshot;

use super::*;
use crate::broker::Capabilities;

/// One test for each case: the good configuration with a part replaced, and what people are told.
macro_rules! wrong {
    ($($name:ident: $part:expr => $replacement:expr;)*) => {$(
        #[test]
        fn $name() {
            let error = parse(with($part, $replacement)).expect_err("this is wrong");
            assert_snapshot!(stringify!($name), error);
        }
    )*};
}

wrong! {
    an_unknown_section: "[defaults.retry]" => "[default.retry]";
    an_unknown_key_of_the_host: "shutdown_timeout =" => "shutdown_time =";
    an_unknown_key_of_the_policies: "rescan =" => "colour =";
    an_unknown_key_of_a_broker: "declare =" => "declared =";
    an_unknown_key_of_another_kind_of_broker: "capacity = 500" => "url = \"amqp://127.0.0.1\"";
    an_unknown_key_of_the_defaults: "[defaults.retry]" => "[defaults]\nconcurrency = 4\n[defaults.retry]";
    an_unknown_key_of_the_default_retry: "jitter =" => "max-delay = \"1m\"\njiter =";
    an_unknown_key_of_a_route: "concurrency =" => "concurency =";
    an_unknown_key_of_a_handler: "timeout = \"10s\"" => "time_out = \"10s\"";
    an_unknown_key_of_a_routes_retry: "factor = 3" => "backoff = 3";
    an_unknown_key_of_requeue: "max_cooldown" => "maxCooldown";
    an_unknown_key_of_a_topic: "exchange = \"parked\"" => "exchange = \"parked\", durable = true";

    a_bad_duration: "\"30s\"\n\n[policies]" => "\"30 sconds\"\n\n[policies]";
    a_duration_without_a_unit: "deadline = \"10ms\"" => "deadline = 10";
    a_deadline_of_nothing: "deadline = \"10ms\"" => "deadline = \"0s\"";
    months_for_minutes: "rescan = \"1m\"" => "rescan = \"5M\"";
    a_duration_without_end: "rescan = \"1m\"" => "rescan = \"11y\"";
    a_bad_size: "memory = \"16MiB\"" => "memory = \"16 megs\"";
    a_size_out_of_range: "memory = \"16MiB\"" => "memory = \"1KiB\"";
    no_threads: "threads = 2" => "threads = 0";

    a_bad_admin_address: "127.0.0.1:7878" => "localhost:7878";
    an_admin_address_for_everybody: "127.0.0.1:7878" => "0.0.0.0:7878";

    an_admin_token_that_is_short: "127.0.0.1:7878\"" => "0.0.0.0:7878\"\nadmin_token = \"0123456789abcde\"";
    an_admin_token_with_blanks: "127.0.0.1:7878\"" => "127.0.0.1:7878\"\nadmin_token = \"a token of some words\"";

    an_unknown_kind_of_broker: "kind = \"memory\"" => "kind = \"memroy\"";
    a_kafka_broker_without_servers: "kind = \"memory\"\ncapacity = 500" => "kind = \"kafka\"";
    a_kafka_broker_with_wrong_servers:
        "kind = \"memory\"\ncapacity = 500" =>
            "kind = \"kafka\"\nservers = [\"kafka\", \"kafka://one:9092\", \"one:9092,two:9092\", \"::1:9092\"]";
    a_kafka_broker_with_an_empty_list_of_servers: "kind = \"memory\"\ncapacity = 500" => "kind = \"kafka\"\nservers = []";
    kafka_settings_that_librdkafka_does_not_know:
        "kind = \"memory\"\ncapacity = 500" =>
            "kind = \"kafka\"\nservers = \"k:9092\"\nsettings = { \"sasl.pasword\" = \"hunter2\", colour = \"red\" }";
    kafka_settings_that_are_ours:
        "kind = \"memory\"\ncapacity = 500" =>
            "kind = \"kafka\"\nservers = \"k:9092\"\nsettings = { acks = 1, \"group.id\" = \"mine\", \"enable.auto.commit\" = true }";
    kafka_settings_with_values_that_librdkafka_does_not_take:
        "kind = \"memory\"\ncapacity = 500" =>
            "kind = \"kafka\"\nservers = \"k:9092\"\nsettings = { \"session.timeout.ms\" = 0, \"ssl.key.pem\" = \"hunter2\\u0000\", \"client.id\" = [] }";
    kafka_settings_written_without_quotes:
        "kind = \"memory\"\ncapacity = 500" => "kind = \"kafka\"\nservers = \"k:9092\"\nsettings = { security.protocol = \"ssl\" }";
    a_kafka_window_and_a_timeout_out_of_range:
        "kind = \"memory\"\ncapacity = 500" =>
            "kind = \"kafka\"\nservers = \"k:9092\"\nwindow = 0\npublish_timeout = \"10ms\"";
    a_broker_without_a_kind: "kind = \"memory\"" => "";
    a_broker_without_a_url: "url = \"amqp://orders:hunter2@127.0.0.1:5672/%2f\"" => "";
    a_bad_broker_name: "[brokers.local]" => "[brokers.\"lo cal\"]";
    tls_without_an_address_for_it: "declare = false" => "tls = { ca = \"ca.pem\" }";
    a_client_certificate_without_its_key:
        GOOD => &with("amqp://orders", "amqps://orders").replace("declare = false", "tls = { certificate = \"c.pem\" }");
    an_unknown_key_of_tls:
        GOOD => &with("amqp://orders", "amqps://orders").replace("declare = false", "tls = { cacert = \"c.pem\" }");
    a_broker_with_one_url_and_several: "declare = false" => "urls = [\"amqp://a\"]";
    several_urls_of_which_two_are_wrong: "url = \"amqp://orders:hunter2@127.0.0.1:5672/%2f\"" => "urls = [\"amqp://a\", \"http://u:hunter2@b\", \"c\"]";
    a_list_of_no_urls: "url = \"amqp://orders:hunter2@127.0.0.1:5672/%2f\"" => "urls = []";
    a_management_url_over_amqp: "declare = false" => "management = \"amqp://u:hunter2@127.0.0.1\"";
    a_consumer_timeout_of_seconds: "declare = false" => "consumer_timeout = \"10s\"";
    a_broker_of_another_scheme: "amqp://orders" => "http://orders";
    a_password_with_signs: "hunter2" => "hunt/er#2";
    an_address_in_the_wrong_place: "kind = \"memory\"" => "kind = \"amqp://orders:hunter2@127.0.0.1\"";

    no_routes_at_all: GOOD => "[brokers.local]\nkind = \"memory\"\n";
    a_single_bracket_for_routes: GOOD => "[routes]\nname = \"orders\"\n";
    a_route_without_anything: GOOD => "[[routes]]\n";
    a_missing_broker: "broker = \"local\"" => "";
    an_unknown_broker: "broker = \"local\"" => "broker = \"locale\"";
    two_routes_of_one_name: "name = \"mails\"" => "name = \"orders\"";
    a_bad_route_name: "name = \"mails\"" => "name = \"mails & more\"";
    an_empty_source: "source = \"mails\"" => "source = \"\"";
    two_routes_on_one_source: "source = \"rejected\"" => "source = \"orders\"";
    a_tiers_own_queue_as_source: "source = \"mails\"" => "source = \"reprieve.tier.30s\"";
    a_source_too_long_for_amqp: "source = \"orders\"" => &format!("source = \"{}\"", "o".repeat(256));
    an_unknown_ordering: "concurrency = 8" => "ordering = \"keys\"";
    an_ordering_of_another_word: "concurrency = 8" => "ordering = \"total\"";
    an_unknown_place_of_a_key: "concurrency = 8" => "ordering = \"key\"\nkey = \"heder:x-customer\"";
    a_key_in_no_header: "concurrency = 8" => "ordering = \"key\"\nkey = \"header:\"";
    a_key_by_no_pointer: "concurrency = 8" => "ordering = \"key\"\nkey = \"json:customer\"";
    a_prefetch_for_some_of_the_slots: "concurrency = 8" => "concurrency = 8\nprefetch = 4";
    a_prefetch_that_leaves_none_for_other_keys: "concurrency = 8" => "concurrency = 8\nprefetch = 8\nordering = \"key\"";
    a_prefetch_beyond_the_protocol: "concurrency = 8" => "prefetch = 65536";
    duplicates_by_nothing: "concurrency = 8" => "deduplicate = { window = \"1h\" }";
    duplicates_by_key: "concurrency = 8" => "deduplicate = { by = \"routing-key\" }";
    duplicates_for_no_time: "concurrency = 8" => "deduplicate = { by = \"id\", window = \"0s\" }";
    an_unknown_key_of_deduplicate: "concurrency = 8" => "deduplicate = { by = \"id\", windows = \"1h\" }";
    duplicates_that_are_a_text: "concurrency = 8" => "deduplicate = \"id\"";
    duplicates_where_nothing_is_handled: "source = \"rejected\"" => "source = \"rejected\"\ndeduplicate = { by = \"id\" }";
    no_concurrency: "concurrency = 8" => "concurrency = 0";
    a_concurrency_in_quotes: "concurrency = 8" => "concurrency = \"8\"";

    an_unknown_kind_of_handler: "kind = \"http\"" => "kind = \"https\"";
    a_handler_over_tls: "http://127.0.0.1:9000/orders" => "https://example.org/orders";
    a_handler_without_a_host: "http://127.0.0.1:9000/orders" => "127.0.0.1:9000/orders";
    a_handler_that_is_a_text: "handler = { kind = \"judge\", error_header = \"error\", origin = \"bills\" }" => "handler = \"judge\"";
    a_bad_http_header: "authorization =" => "\"my header\" =";
    a_command_that_is_one_text: "[\"./send\", \"--fast\"]" => "\"./send --fast\"";
    an_empty_command: "[\"./send\", \"--fast\"]" => "[]";

    a_policy_without_a_folder: "folder = \"policies\"" => "";
    a_policy_with_its_ending: "policy = \"by-error-kind\"" => "policy = \"by-error-kind.wasm\"";
    a_policy_that_is_a_candidate: "policy = \"by-error-kind\"" => "policy = \"by-error-kind.next\"";
    a_policy_that_is_a_path: "policy = \"by-error-kind\"" => "policy = \"../by-error-kind\"";

    a_digest_without_its_kind: "threads = 2" => "allow = [\"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\"]";
    several_bad_digests: "threads = 2" => "allow = [\"sha256:abc\", \"sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\", \"orders.wasm\"]";
    a_list_that_allows_nothing: "threads = 2" => "allow = []";
    a_key_that_is_a_file: "threads = 2" => "public_keys = [\"minisign.pub\"]";
    a_key_that_is_cut_short: "threads = 2" => "public_keys = [\"RWRIEFA32+srMCoJ7r9xo23CVTZvUYlBVrLa/axPFMP2G22fRKXzEce\"]";
    a_key_that_is_no_list: "threads = 2" => "public_keys = \"RWRIEFA32+srMCoJ7r9xo23CVTZvUYlBVrLa/axPFMP2G22fRKXzEce1\"";
    a_pin_without_a_policy: "source = \"mails\"" => "source = \"mails\"\npolicy_digest = \"sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\"";
    a_pin_that_is_no_digest: "policy = \"by-error-kind\"" => "policy = \"by-error-kind\"\npolicy_digest = \"latest\"";
    a_pin_that_is_not_allowed:
        GOOD => &with("threads = 2", "allow = [\"sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\"]").replace("concurrency = 8", "policy_digest = \"sha256:0000000000000000000000000000000000000000000000000000000000000000\"");
    two_pins_of_one_file:
        GOOD => &with("concurrency = 8", "policy_digest = \"sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\"").replace("source = \"mails\"", "source = \"mails\"\npolicy = \"by-error-kind\"\npolicy_digest = \"sha256:0000000000000000000000000000000000000000000000000000000000000000\"");

    a_tier_that_the_host_lacks: "[\"30m\", \"30s\"]" => "[\"31m\", \"30s\"]";
    a_tier_written_otherwise: "[\"30m\", \"30s\"]" => "[\"1800s\", \"30s\"]";
    a_tier_twice_on_a_route: "[\"30m\", \"30s\"]" => "[\"30s\", \"30s\"]";
    a_tier_twice_on_the_host: "[\"30s\", \"5m\", \"30m\"]" => "[\"30s\", \"5m\", \"30m\", \"300s\"]";
    a_tier_with_a_blank: "[\"30s\", \"5m\", \"30m\"]" => "[\"30s\", \"5m\", \"30m\", \"1h 30m\"]";
    a_tier_too_long_for_a_queue: "[\"30s\", \"5m\", \"30m\"]" => "[\"30s\", \"5m\", \"30m\", \"50d\"]";
    a_tier_that_is_a_number: "[\"30s\", \"5m\", \"30m\"]" => "[\"30s\", \"30m\", 5]";

    a_bad_dead_letter_label: "invalid =" => "\"in valid\" =";
    dead_letters_into_the_own_source: "default = \"mails.dlq\"" => "default = \"mails\"";
    dead_letters_into_the_own_source_by_exchange: "exchange = \"parked\"" => "exchange = \"\"";
    dead_letters_that_come_back_through_another_route:
        "default = \"orders.dlq\", invalid = { exchange = \"parked\", routing_key = \"orders\" } }" =>
        "default = \"rejected\" }\n# Its own dead letters:\nrequeue = {}\n[[routes]]\nname = \"parked\"\nbroker = \"main\"\nsource = \"bills.dlq\"\nhandler = { kind = \"judge\" }\ndead_letters = { default = \"orders\" }";
    dead_letters_of_a_judge_back_to_its_origin: "default = \"bills.dlq\"" => "default = \"bills\"";
    an_exchange_on_the_memory_broker: "default = \"mails.dlq\"" => "default = { exchange = \"e\", routing_key = \"k\" }";
    a_topic_that_lacks_its_routing_key: ", routing_key = \"orders\"" => "";
    a_topic_that_is_a_number: "default = \"mails.dlq\"" => "default = 7";

    a_factor_that_is_not_a_number: "factor = 3" => "factor = nan";
    a_negative_factor: "factor = 3" => "factor = -2";
    a_first_delay_beyond_the_longest: "initial_delay = \"1s\"" => "initial_delay = \"1m\"";
    an_unknown_jitter: "jitter = \"full\"" => "jitter = \"ful\"";
    negative_attempts: "max_attempts = 5" => "max_attempts = -1";
    a_first_cooldown_beyond_the_longest: "cooldown = \"2s\"" => "cooldown = \"20s\"";
    an_empty_header_prefix: "header_prefix = \"smsg-\"" => "header_prefix = \"\"";
    a_header_prefix_of_the_brokers: "header_prefix = \"smsg-\"" => "header_prefix = \"x-smsg-\"";
    a_judge_that_sends_back_to_itself: "origin = \"bills\"" => "origin = \"rejected\"";
    a_setting_that_json_cannot_hold: "weight = 1.5" => "weight = inf";

    a_text_without_quotes: "source = \"mails\"" => "source = mails";
    a_quote_that_is_not_closed: "hunter2@127.0.0.1:5672/%2f\"" => "hunter2@127.0.0.1:5672/%2f";
    a_key_twice: "concurrency = 8" => "concurrency = 8\nconcurrency = 9";
    many_things_at_once: GOOD => "[host]\nadmin = \"localhost\"\ntiers = [\"1 h\"]\n\n[brokers.main]\nkind = \"rabbitmq\"\nurl = \"amqp://\"\n\n[[routes]]\nname = \"orders\"\nbroker = \"mian\"\nconcurrency = 0\n";
}

#[test]
fn a_file_that_cannot_be_read() {
    assert_snapshot!("a_file_that_is_not_there", Config::load("nowhere/reprieve.toml").unwrap_err());

    let folder = tempfile::tempdir().unwrap();
    let message =
        |path: &Path| Config::load(path).unwrap_err().to_string().replace(&folder.path().display().to_string(), "etc");
    assert_snapshot!("a_file_that_is_a_folder", message(folder.path()));
    let path = folder.path().join("reprieve.toml");
    fs::write(&path, b"[host]\nstate = \"\xff\"\n").unwrap();
    assert_snapshot!("a_file_that_is_not_text", message(&path));
}

#[test]
fn what_is_probably_not_meant_is_a_warning() {
    let text = with("dead_letters = { default = \"bills.dlq\" }", "tiers = []").replace("5672/%2f", "5672/");
    let config = parse(text).unwrap();
    assert!(config.warnings.iter().all(|problem| problem.severity() == Severity::Warning));
    assert_snapshot!("what_is_probably_not_meant_is_a_warning", Report(&config.warnings));
}

#[test]
fn a_policy_whose_file_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("reprieve.toml");
    let message = |config: &Config| {
        let problems = config.missing_policies();
        Report(&problems).to_string().replace(&format!("{}/", folder.path().display()), "")
    };
    let config = Config::parse(GOOD, &path).unwrap();
    assert_snapshot!("a_policy_folder_that_is_missing", message(&config));

    fs::create_dir(folder.path().join("policies")).unwrap();
    assert_snapshot!("a_policy_whose_folder_is_empty", message(&config));

    for name in ["strict.wasm", "by-error.wasm", "by-error.next.wasm", "notes.txt"] {
        fs::write(folder.path().join("policies").join(name), "").unwrap();
    }
    assert_snapshot!("a_policy_whose_file_is_missing", message(&config));

    fs::write(folder.path().join("policies/by-error-kind.wasm"), "").unwrap();
    assert_eq!(config.missing_policies(), []);
}

#[test]
fn what_a_broker_cannot_do() {
    let weak = Capabilities {
        kind: "weak",
        max_retry_delay: std::time::Duration::from_secs(15),
        max_hold: std::time::Duration::MAX,
        tiers: false,
        answers_settles: false,
        partitions: false,
        tells_of_interruptions: false,
        remembers_starts: "nothing",
        order: "none",
        largest: "any size",
        interruptions: "never",
        keeps: crate::broker::Kept::ALL,
    };
    let mut config = parse(GOOD).unwrap();
    let problems = config.fit(|_| Some(weak.clone()));
    assert_snapshot!("what_a_broker_cannot_do", Report(&problems));
    assert_eq!(config.routes[1].tiers, [], "tiers that nobody asked for are left out");

    let mut config = parse(GOOD).unwrap();
    assert_eq!(
        config.fit(|_| Some(Capabilities { tiers: true, max_retry_delay: std::time::Duration::MAX, ..weak.clone() })),
        []
    );
    assert_eq!(config.routes[1].tiers.len(), 3);
}

#[test]
fn partitions_and_groups_on_a_broker_that_has_none() {
    let weak = crate::broker::Broker::capabilities(&crate::broker::memory::MemoryBroker::default());
    let mut config = parse(with("policy =", "ordering = \"partition\"\ngroup = \"g\"\npolicy =")).unwrap();
    let problems = config.fit(|_| Some(weak.clone()));
    assert_snapshot!("partitions_and_groups_on_a_broker_that_has_none", Report(&problems));
    assert_eq!(config.fit(|_| Some(Capabilities { partitions: true, ..weak.clone() })), []);
}

mod any_text {
    use proptest::prelude::*;

    use super::super::*;

    proptest! {
        #[test]
        fn is_answered_without_a_panic_and_without_a_secret(
            start in 0..GOOD.len(),
            length in 0usize..40,
            inserted in "[a-z0-9\"'=\\[\\]{}.,\n#ü -]{0,6}",
        ) {
            // Lengths and columns must hold for whatever is left, but the secrets themselves stay whole.
            let end = (start + length).min(GOOD.len());
            let text = format!("{}{inserted}{}", &GOOD[..start], &GOOD[end..]);
            prop_assume!(text.contains("://orders:hunter2@"));
            let shown = match parse(text) {
                Ok(config) => format!("{config:?}"),
                Err(error) => error.to_string(),
            };
            prop_assert!(!shown.contains("hunter2"), "{}", shown);
        }

        #[test]
        fn of_any_kind_is_answered_without_a_panic(text in any::<String>()) {
            if let Err(error) = parse(text) {
                prop_assert!(!error.to_string().is_empty());
            }
        }
    }
}
