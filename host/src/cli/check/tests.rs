use std::fs;

use super::*;
use crate::policy::embedded::STANDARD;

const CONFIG: &str = r#"
[policies]
folder = "policies"

[brokers.main]
kind = "rabbitmq"
url = "amqp://orders:hunter2@rabbit.internal:5672"

[brokers.local]
kind = "memory"

[[routes]]
name = "orders"
broker = "main"
source = "orders"
handler = { kind = "http", url = "http://127.0.0.1:9000/orders", timeout = "10s" }
policy = "strict"
dead_letters = { default = "orders.dlq", invalid = { exchange = "parked", routing_key = "orders" } }
retry = { max_attempts = 5, initial_delay = "1s", jitter = "equal" }

[[routes]]
name = "mails"
broker = "local"
source = "mails"
handler = { kind = "command", program = ["python3", "send.py"] }
tiers = []

[[routes]]
name = "rejected"
broker = "main"
source = "rejected"
handler = { kind = "judge" }
dead_letters = { default = "bills.dlq" }
"#;

/// What `check` finds and prints, the folder's own path left out.
fn run_check(folder: &tempfile::TempDir) -> (Finding, String, String) {
    let config = ConfigArgument { config: folder.path().join("reprieve.toml") };
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let finding = report(&CheckArguments { config, connect: false }, &mut out, &mut err).unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap().replace(&format!("{}/", folder.path().display()), "");
    (finding, text(out), text(err))
}

/// A folder with this configuration, and this file for the policy that it names.
fn place(config: &str, strict: impl AsRef<[u8]>) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("reprieve.toml"), config).unwrap();
    fs::create_dir(folder.path().join("policies")).unwrap();
    fs::write(folder.path().join("policies/strict.wasm"), strict).unwrap();
    folder
}

#[test]
fn a_right_configuration_is_summed_up_and_its_warnings_stand_apart() {
    let (finding, out, err) = run_check(&place(CONFIG, STANDARD));
    assert_eq!(finding, Finding::Right);
    insta::assert_snapshot!("summary", out);
    insta::assert_snapshot!("warnings", err);
}

#[test]
fn ordering_and_duplicates_are_summed_up() {
    let keys = "source = \"mails\"\nordering = \"key\"\nkey = \"header:x-customer\"\nconcurrency = 4\ndeduplicate = { by = \"id\", window = \"1h\" }";
    let (finding, out, _) = run_check(&place(&CONFIG.replace("source = \"mails\"", keys), STANDARD));
    assert_eq!(finding, Finding::Right);
    let (_, mails) = out.split_once("\nmails\n").unwrap();
    insta::assert_snapshot!("ordering_and_duplicates", mails.split_once("\n\n").unwrap().0);
}

#[test]
fn a_missing_policy_is_an_error_and_nothing_is_summed_up() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("reprieve.toml"), CONFIG).unwrap();
    let (finding, out, err) = run_check(&folder);
    assert_eq!((finding, out.as_str()), (Finding::Wrong, ""));
    insta::assert_snapshot!("missing_policy", err);
}

#[test]
fn a_file_that_is_no_policy_is_an_error_where_it_is_named() {
    let (finding, out, err) = run_check(&place(CONFIG, "hello there"));
    assert_eq!((finding, out.as_str()), (Finding::Wrong, ""));
    insta::assert_snapshot!("not_a_policy", err);
}

#[test]
fn each_setting_that_a_policy_refuses_is_an_error_where_it_is_written() {
    let settings = "policy = \"strict\"\nsettings.rules = [\n    { kinds = [] },\n    { kinds = [\"busy\"], tiers = [\"7s\"] },\n]";
    let config = CONFIG
        .replace("policy = \"strict\"", settings)
        .replace("source = \"rejected\"", "source = \"rejected\"\nsettings = { give_up = \"24h\" }");
    let (finding, out, err) = run_check(&place(&config, STANDARD));
    assert_eq!((finding, out.as_str()), (Finding::Wrong, ""));
    insta::assert_snapshot!("settings", err);
}

#[test]
fn what_a_broker_cannot_do_is_an_error_although_nothing_is_connected_to() {
    let config = CONFIG.replace("policy = \"strict\"", "policy = \"strict\"\nmax_retry_delay = \"1h\"");
    let (finding, out, err) = run_check(&place(&config, STANDARD));
    assert_eq!((finding, out.as_str()), (Finding::Wrong, ""));
    insta::assert_snapshot!("beyond_the_broker", err);
}

#[test]
fn a_folder_that_a_handler_cannot_run_in_is_an_error() {
    let config = CONFIG.replace("\"send.py\"] }", "\"send.py\"], directory = \"gone\" }");
    let (finding, out, err) = run_check(&place(&config, STANDARD));
    assert_eq!((finding, out.as_str()), (Finding::Wrong, ""));
    insta::assert_snapshot!("missing_directory", err);
}

#[test]
fn a_wrong_configuration_is_explained_on_standard_error_only() {
    let (finding, out, err) = run_check(&place(&CONFIG.replace("[[routes]]", "[routes]"), STANDARD));
    assert_eq!((finding, out.as_str()), (Finding::Wrong, ""));
    insta::assert_snapshot!("wrong", err);
}
