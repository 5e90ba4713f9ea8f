//! How many messages a route takes at a time, and in which order it runs them.

use std::ops::Range;

use toml::Spanned;

use crate::config::section::Section;
use crate::config::suggestion::suggest;
use crate::route::KeySource;

/// `concurrency`, `prefetch`, `ordering` and `key`, which go together.
pub(in crate::config) struct Flow {
    pub(super) concurrency: u16,
    pub(super) prefetch: Option<u16>,
    pub(super) ordering: Option<KeySource>,
    /// Where `ordering` is written.
    pub(in crate::config) ordering_place: Option<Range<usize>>,
}

pub(super) fn read_flow(section: &Section<'_>) -> Flow {
    let concurrency = read_number(section, "concurrency").unwrap_or(16);
    let flow = Flow {
        concurrency,
        prefetch: read_number(section, "prefetch"),
        ordering: read_ordering(section),
        ordering_place: section.value("ordering").map(Spanned::span),
    };
    check_prefetch(section, &flow);
    flow
}

fn read_number(section: &Section<'_>, key: &'static str) -> Option<u16> {
    let number = section.integer(key, 1..=u64::from(u16::MAX))?;
    u16::try_from(number).ok()
}

fn read_ordering(section: &Section<'_>) -> Option<KeySource> {
    let written = section.text("ordering");
    let by_key = written.as_ref().is_some_and(|text| match *text.get_ref() {
        "key" => true,
        "none" | "partition" => false,
        other => {
            let message = format!("there is no ordering \"{other}\"");
            section.problems.error(&text.span(), message, suggest(other, &["none", "key", "partition"]));
            true
        }
    });
    let key = section.text("key");
    if let Some(key) = &key
        && !by_key
    {
        section.problems.warning(
            &key.span(),
            format!("{} has a `key` and is not ordered by it", section.title),
            "add ordering = \"key\", or leave `key` out",
        );
    }
    let source = key.map_or(Some(KeySource::default()), |key| read_key_source(section, &key));
    if written.is_some_and(|text| *text.get_ref() == "partition") {
        return Some(KeySource::Partition);
    }
    source.filter(|_| by_key)
}

/// Where a key is found.
pub(super) fn read_key_source(section: &Section<'_>, text: &Spanned<&str>) -> Option<KeySource> {
    match text.get_ref().parse::<KeySource>() {
        Ok(source) => Some(source),
        Err(error) => {
            section.problems.error(&text.span(), error.to_string(), error.cure());
            None
        }
    }
}

fn check_prefetch(section: &Section<'_>, flow: &Flow) {
    let (Some(prefetch), Some(value)) = (flow.prefetch, section.value("prefetch")) else { return };
    let slots = flow.concurrency;
    if prefetch < slots {
        section.problems.error(
            &value.span(),
            format!("{} is given {prefetch} messages at a time for {slots} slots", section.title),
            format!("write a number from {slots}, which is its `concurrency`, or leave `prefetch` out"),
        );
    } else if flow.ordering.is_some() && prefetch == slots {
        section.problems.error(
            &value.span(),
            format!("with `prefetch` at {prefetch}, messages that wait for their key leave slots empty"),
            "write more than `concurrency`, or leave `prefetch` out for four times as many",
        );
    }
}
