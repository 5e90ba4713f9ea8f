//! Three programs on one queue, which know nothing of each other.

mod counts;
mod ends;
mod policies;

use std::collections::BTreeSet;

use crate::support::{Event, Handler, Program, Scene};

const HOSTS: [&str; 3] = ["a", "b", "c"];

/// Starts the three with one route each on `source`, whose handler is told the host by the path. `rest` is what else
/// stands in the route.
fn start(scene: &Scene, source: &str, handler: &Handler, rest: &str) -> [Program; 3] {
    let programs = HOSTS.map(|host| {
        let url = format!("{}{host}", handler.url());
        scene.host(
            host,
            &format!(
                r#"
[[routes]]
name = "orders"
broker = "main"
source = "{source}"
handler = {{ kind = "http", url = "{url}", timeout = "60s" }}
{rest}
"#
            ),
        )
    });
    programs.iter().for_each(Program::wait_until_ready);
    programs
}

/// The host that ran the handler.
fn host_of(event: &Event) -> &str {
    event.path.trim_start_matches('/')
}

fn hosts_of<'e>(events: impl IntoIterator<Item = &'e Event>) -> BTreeSet<&'e str> {
    events.into_iter().map(host_of).collect()
}

fn ids(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|number| format!("{prefix}-{number:03}")).collect()
}
