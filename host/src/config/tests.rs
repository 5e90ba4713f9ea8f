//! What a configuration means, and the exact words for each way that it can be wrong.

mod defaults;
mod documented;
mod narad;
mod wrong;

use super::*;

/// Every section and nearly every key.
const GOOD: &str = r#"[host]
admin = "127.0.0.1:7878"
state = "state"
tiers = ["30s", "5m", "30m"]
shutdown_timeout = "30s"

[policies]
folder = "policies"
deadline = "10ms"
memory = "16MiB"
file_size = "4MiB"
rescan = "1m"
threads = 2

[brokers.main]
kind = "rabbitmq"
url = "amqp://orders:hunter2@127.0.0.1:5672/%2f"
declare = false

[brokers.local]
kind = "memory"
capacity = 500

[defaults.retry]
max_attempts = 3
jitter = "full"

[[routes]]
name = "orders"
broker = "main"
source = "orders"
handler = { kind = "http", url = "http://127.0.0.1:9000/orders", timeout = "10s", headers = { authorization = "Bearer 5e" } }
concurrency = 8
policy = "by-error-kind"
dead_letters = { default = "orders.dlq", invalid = { exchange = "parked", routing_key = "orders" } }
tiers = ["30m", "30s"]
header_prefix = "smsg-"
requeue = { cooldown = "2s", max_cooldown = "10s" }
allow_drop_on_fault = true
max_retry_delay = "20s"

[routes.retry]
max_attempts = 5
initial_delay = "1s"
factor = 3

[routes.settings]
give_up_after = "24h"
rules = [{ kind = "timeout", weight = 1.5, since = 2026-01-31 }]

[[routes]]
name = "mails"
broker = "local"
source = "mails"
handler = { kind = "command", program = ["./send", "--fast"], env = { TOKEN = "s3cret" } }
dead_letters = { default = "mails.dlq" }

[[routes]]
name = "rejected"
broker = "main"
source = "rejected"
handler = { kind = "judge", error_header = "error", origin = "bills" }
dead_letters = { default = "bills.dlq" }
"#;

fn parse(text: impl Into<String>) -> Result<Config, ConfigError> {
    Config::parse(text, "etc/reprieve.toml")
}

/// The good configuration with one part replaced.
fn with(part: &str, replacement: &str) -> String {
    assert_eq!(GOOD.matches(part).count(), 1, "`{part}` names one place");
    GOOD.replace(part, replacement)
}
