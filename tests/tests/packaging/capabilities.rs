//! The table of what brokers can do, in the documentation, is what the drivers declare.

use std::time::Duration;

use humantime::format_duration;
use reprieve::broker::kafka::{Kafka, KafkaSettings};
use reprieve::broker::memory::MemoryBroker;
use reprieve::broker::narad::{Narad, NaradSettings};
use reprieve::broker::rabbitmq::{RabbitMq, RabbitMqSettings};
use reprieve::broker::{Broker, Capabilities, Kept};

use crate::root;

const PAGE: &str = "docs/settlement.md";
/// Set, the page is written anew instead of compared.
const UPDATE: &str = "REPRIEVE_UPDATE_DOCS";
const BEGIN: &str = "<!-- capabilities: generated, see tests/tests/packaging/capabilities.rs -->\n";
const END: &str = "<!-- end of capabilities -->\n";

#[test]
fn the_table_of_capabilities_is_what_the_drivers_declare() {
    let path = root().join(PAGE);
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap_or_else(|| panic!("{PAGE} has no line {BEGIN}"));
    let (stands, behind) = rest.split_once(END).unwrap_or_else(|| panic!("{PAGE} has no line {END}"));
    let table = table(&every_broker());
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(&path, [before, BEGIN, &table, END, behind].concat()).unwrap();
    } else {
        assert_eq!(stands, table, "run this test with {UPDATE}=1, and commit {PAGE}");
    }
}

/// With the settings that they have by default; none of them connects.
fn every_broker() -> [Capabilities; 4] {
    let rabbitmq = RabbitMq::new(&RabbitMqSettings::new("main", "amqp://127.0.0.1/%2f")).unwrap();
    let kafka = Kafka::new(&KafkaSettings::new("main", "127.0.0.1:9092")).unwrap();
    let narad = Narad::new(NaradSettings::new("main", "http://127.0.0.1:7942")).unwrap();
    [MemoryBroker::default().capabilities(), rabbitmq.capabilities(), kafka.capabilities(), narad.capabilities()]
}

fn table(brokers: &[Capabilities]) -> String {
    // Whoever adds a capability is told here to say it.
    let columns = brokers.iter().map(|capabilities| {
        let Capabilities {
            kind,
            max_retry_delay,
            max_hold,
            tiers,
            answers_settles,
            partitions,
            tells_of_interruptions,
            remembers_starts,
            order,
            largest,
            interruptions,
            keeps,
        } = capabilities.clone();
        [
            kind.to_owned(),
            duration(max_retry_delay),
            duration(max_hold),
            yes(tiers),
            headers(keeps),
            besides(keeps),
            remembers_starts.to_owned(),
            order.to_owned(),
            yes(partitions),
            largest.to_owned(),
            interruptions.to_owned(),
            yes(tells_of_interruptions),
            yes(answers_settles),
        ]
    });
    let columns: Vec<_> = columns.collect();
    let names = [
        "",
        "longest retry in process",
        "longest that a delivery is held",
        "tiers",
        "headers",
        "what else of a message is kept",
        "what is counted of starts since the last copy",
        "order",
        "partitions to order by",
        "largest message",
        "takes a running delivery back",
        "says what was in work when another host ended",
        "answers a settle",
    ];
    let rows = names.iter().enumerate().map(|(row, name)| {
        let cells: Vec<&str> =
            std::iter::once(*name).chain(columns.iter().map(|column| column[row].as_str())).collect();
        let line = format!("| {} |\n", cells.join(" | "));
        if row == 0 { line + "|" + &" --- |".repeat(cells.len()) + "\n" } else { line }
    });
    rows.collect()
}

fn duration(duration: Duration) -> String {
    if duration == Duration::MAX { "any time".to_owned() } else { format_duration(duration).to_string() }
}

fn yes(yes: bool) -> String {
    if yes { "yes" } else { "no" }.to_owned()
}

fn headers(keeps: Kept) -> String {
    let types = if keeps.header_types { "with their types" } else { "as bytes" };
    let order = if keeps.header_order { "in order, several of a name" } else { "the last of each name" };
    format!("{types}, {order}")
}

fn besides(keeps: Kept) -> String {
    let Kept { keys, null_bodies, header_types: _, header_order: _, properties, timestamps } = keeps;
    let all = [(keys, "key"), (null_bodies, "null body"), (properties, "properties"), (timestamps, "timestamp")];
    let kept: Vec<&str> = all.into_iter().filter_map(|(is_kept, name)| is_kept.then_some(name)).collect();
    kept.join(", ")
}
