//! A route's `dead_letters`.

use std::collections::BTreeMap;

use toml::Spanned;
use toml::de::DeValue;

use super::name::check_name;
use super::section::Section;
use crate::topic::Topic;

/// A label's topic, and where it is written.
pub(super) type DeadLetters = BTreeMap<String, Spanned<Topic>>;

/// Reads the topic of each label.
pub(super) fn read_dead_letters(section: &Section<'_>) -> DeadLetters {
    let mut topics = DeadLetters::new();
    for (label, value) in section.entries() {
        let good = check_name(section.problems, "a dead-letter label", &label);
        if let Some(topic) = read_topic(section, label.get_ref(), value)
            && good
        {
            topics.insert((*label.get_ref()).to_owned(), Spanned::new(value.span(), topic));
        }
    }
    topics
}

fn read_topic<'d>(section: &Section<'d>, label: &str, value: &'d Spanned<DeValue<'d>>) -> Option<Topic> {
    if value.get_ref().is_str() {
        return section.text_of(label, value).map(|name| Topic::from(*name.get_ref()));
    }
    if !value.get_ref().is_table() {
        return section.wrong_type(
            label,
            value,
            "a topic",
            "write a queue\'s name in quotes, or { exchange = \"…\", routing_key = \"…\" }",
        );
    }
    let topic = section.section_of(label, format!("the topic of `{label}`"), value)?;
    let exchange = name_or_empty(&topic, "exchange");
    let routing_key = name_or_empty(&topic, "routing_key");
    topic.finish();
    Some(Topic::Exchange { exchange: exchange?, routing_key: routing_key? })
}

/// A text that may be empty: the default exchange, and the routing key of a fanout, have no name.
fn name_or_empty(topic: &Section<'_>, key: &'static str) -> Option<String> {
    let value = topic.required(key, &format!("add {key} = \"…\"; it may be empty"))?;
    match value.get_ref().as_str() {
        Some(text) => Some(text.to_owned()),
        None => topic.wrong_type(key, value, "a text", "write it in quotes"),
    }
}
