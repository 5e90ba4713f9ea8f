//! A route's `deduplicate`.

use std::time::Duration;

use toml::Spanned;

use super::DeduplicateConfig;
use super::ordering::read_key_source;
use crate::config::section::Section;
use crate::route::KeySource;

const DEFAULT_WINDOW: Duration = Duration::from_secs(600);

pub(super) fn read_deduplicate(section: &Section<'_>) -> Option<Spanned<DeduplicateConfig>> {
    let table = section.section("deduplicate", format!("`deduplicate` of {}", section.title))?;
    let span = table.span.clone();
    let by = table.required_text("by", "add by = \"id\", \"header:NAME\" or \"json:/POINTER\"");
    let window = table.positive_duration("window").map_or(DEFAULT_WINDOW, Spanned::into_inner);
    let source = by.as_ref().and_then(|text| read_key_source(&table, text));
    if let (Some(text), Some(KeySource::Key)) = (&by, &source) {
        table.problems.error(
            &text.span(),
            "messages with one key are not duplicates: all but the first would be acknowledged unhandled",
            "write what each message has of its own: \"id\", \"header:NAME\" or \"json:/POINTER\"",
        );
    }
    table.finish();
    source.map(|by| Spanned::new(span, DeduplicateConfig { by, window }))
}
