//! The text of a configuration file, and how a place in it is shown to people.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;

use toml::de::{DeTable, DeValue};

/// What a secret is shown as.
const MASK: &str = "***";
/// How much of a long line is shown, in characters: so much before the mark, and so much of it and after it.
const BEFORE: usize = 60;
const AFTER: usize = 100;
/// The keys whose values may be credentials, wherever they stand.
const SECRET_KEYS: [&str; 4] = ["headers", "env", "password", "admin_token"];
/// The keys whose values are addresses, of which a part is a secret.
const ADDRESS_KEYS: [&str; 4] = ["url", "urls", "management", "otlp"];
/// Those of `SECRET_KEYS` that hold secrets by name.
const SECRET_TABLES: [&str; 2] = ["headers", "env"];
/// The keys of a table that says where a secret is: `{ env = "NAME" }` and `{ file = "PATH" }`.
const PLACES: [&str; 2] = ["env", "file"];

/// The text of a configuration file. Its debug form leaves the text out: there are passwords in it.
#[derive(Clone)]
pub(super) struct Source {
    pub(super) path: PathBuf,
    pub(super) text: String,
    /// The byte ranges that are never shown.
    secrets: Vec<Range<usize>>,
}

/// One line of the file with the part that is meant, secrets masked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Excerpt {
    /// From 1.
    pub(super) line: usize,
    /// In characters, from 1.
    pub(super) column: usize,
    /// The line.
    pub(super) text: String,
    /// Which characters of `text` are meant. Not empty.
    pub(super) marked: Range<usize>,
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Source {
    pub(super) fn new(path: PathBuf, text: String) -> Self {
        // A broken file is shown too, so the secrets of whatever could be read are looked for as well.
        let (root, _) = DeTable::parse_recoverable(&text);
        let mut secrets = secrets_of_addresses(&text);
        for (key, value) in root.get_ref() {
            collect_secrets(&text, is_secret(key.get_ref(), value), false, value, &mut secrets);
        }
        // Which of a client library's settings are secret its names tell, but not where they are misspelt.
        for settings in broker_settings(root.get_ref()) {
            collect_secrets(&text, true, true, settings, &mut secrets);
        }
        Self { path, text, secrets }
    }

    /// The line that a span begins on, with what the span covers of it.
    pub(super) fn excerpt(&self, span: &Range<usize>) -> Excerpt {
        let start = self.text.floor_char_boundary(span.start);
        let line_start = self.text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = self.text[start..].find('\n').map_or(self.text.len(), |newline| start + newline);
        let mut shown = Shown::default();
        for (offset, character) in self.text[line_start..line_end].char_indices() {
            let at = line_start + offset;
            if at == start {
                shown.marked.start = shown.width;
            }
            let secret = self.secrets.iter().find(|secret| secret.contains(&at));
            match secret {
                Some(secret) if at == secret.start.max(line_start) => shown.push_str(MASK),
                Some(_) => {}
                None if character == '\r' => {}
                None if character.is_control() => shown.push_str(" "),
                None => shown.push_str(character.encode_utf8(&mut [0; 4])),
            }
            if at < span.end {
                shown.marked.end = shown.width;
            }
        }
        if start >= line_end {
            shown.marked.start = shown.width;
        }
        shown.marked.end = shown.marked.end.max(shown.marked.start + 1);
        shown.cut();
        Excerpt {
            line: self.text[..start].matches('\n').count() + 1,
            column: self.text[line_start..start].chars().count() + 1,
            text: shown.text,
            marked: shown.marked,
        }
    }
}

/// A line while it is put together.
#[derive(Default)]
struct Shown {
    text: String,
    /// Of `text`, in characters.
    width: usize,
    marked: Range<usize>,
}

impl Shown {
    fn push_str(&mut self, text: &str) {
        self.text.push_str(text);
        self.width += text.chars().count();
    }

    /// Leaves the part around the mark.
    fn cut(&mut self) {
        let (start, end) = (self.marked.start.saturating_sub(BEFORE), self.marked.start + AFTER);
        if self.width > end {
            self.text = self.text.chars().take(end).chain(['…']).collect();
            self.marked.end = self.marked.end.min(end);
        }
        // A little is not worth a cut.
        if start > 0 && self.width > BEFORE + AFTER {
            self.text = ['…'].into_iter().chain(self.text.chars().skip(start)).collect();
            self.marked = self.marked.start - start + 1..self.marked.end - start + 1;
        }
    }
}

/// Whether no part of the value may be shown.
fn is_secret(key: &str, value: &toml::Spanned<DeValue<'_>>) -> bool {
    let without_scheme = |value: &toml::Spanned<DeValue<'_>>| {
        // Where the parts of an address begin and end cannot be told then.
        value.get_ref().as_str().is_some_and(|text| !text.contains("://") && text.contains(['@', '?']))
    };
    SECRET_KEYS.contains(&key)
        || ADDRESS_KEYS.contains(&key)
            && (without_scheme(value)
                || value.get_ref().as_array().is_some_and(|items| items.iter().any(without_scheme)))
}

/// Adds every text below a secret key, but for those that only say where the secret is, and every address that is
/// written in another way than as it is.
fn collect_secrets(
    text: &str,
    secret: bool,
    holds_secrets: bool,
    value: &toml::Spanned<DeValue<'_>>,
    found: &mut Vec<Range<usize>>,
) {
    match value.get_ref() {
        DeValue::String(_) if secret => found.push(value.span()),
        // With escapes or on several lines: its parts are not to be found in the text of the file.
        DeValue::String(meant)
            if meant.contains("://")
                && (meant.contains('\n')
                    || text.get(value.span()).is_none_or(|written| !written.contains(&**meant))) =>
        {
            found.push(value.span());
        }
        DeValue::Array(items) => {
            items.iter().for_each(|item| collect_secrets(text, secret, holds_secrets, item, found));
        }
        DeValue::Table(table) => {
            let names_a_place = table.len() == 1 && table.keys().all(|key| PLACES.contains(&&**key.get_ref()));
            for (key, value) in table {
                // A header or a variable may have one of these names itself.
                if names_a_place && matches!(value.get_ref(), DeValue::String(_)) && !holds_secrets {
                    continue;
                }
                let key = &**key.get_ref();
                collect_secrets(text, secret || is_secret(key, value), SECRET_TABLES.contains(&key), value, found);
            }
        }
        _ => {}
    }
}

/// A message with the secrets of all addresses in it masked: whatever is in a file may stand in the wrong place.
pub(super) fn masked(text: &str) -> String {
    let mut shown = text.to_owned();
    // From the end, so that the places before stay where they are.
    for secret in secrets_of_addresses(text).into_iter().rev() {
        shown.replace_range(secret, MASK);
    }
    shown
}

/// The passwords and queries of all addresses in the text, in order, also where it is not TOML. An address goes from `://`
/// to the end of its text, by the quote where it has one; a password from its first colon to its last `@`, and a query
/// from its first `?` to the end.
fn secrets_of_addresses(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for (scheme, _) in text.match_indices("://") {
        let authority = scheme + "://".len();
        // Another address may stand before the quote; what is secret in this one is within that one's ranges then.
        if found.last().is_some_and(|last| last.end > authority) {
            continue;
        }
        let line = text[..scheme].rfind('\n').map_or(0, |newline| newline + 1);
        let quote = text[line..scheme].chars().rev().find(|character| matches!(character, '"' | '\''));
        let rest = &text[authority..];
        let end = rest.find(|character| character == '\n' || Some(character) == quote).unwrap_or(rest.len());
        let address = &rest[..end];
        let password = address.find(':').zip(address.rfind('@')).filter(|(colon, at)| colon < at);
        let within = |range: Range<usize>| authority + range.start..authority + range.end;
        match (password, address.find('?')) {
            // The sign is of a password that is not percent-encoded, or the `@` is of the query: neither is shown.
            (Some((colon, at)), Some(query)) if query < at => found.push(within(colon.min(query) + 1..end)),
            (password, query) => {
                found.extend(password.map(|(colon, at)| within(colon + 1..at)));
                found.extend(query.map(|query| within(query + 1..end)));
            }
        }
    }
    found
}

/// `settings` of each of `[brokers]`.
fn broker_settings<'t>(root: &'t DeTable<'_>) -> impl Iterator<Item = &'t toml::Spanned<DeValue<'t>>> {
    let brokers = root.get("brokers").and_then(|brokers| brokers.get_ref().as_table());
    brokers
        .into_iter()
        .flat_map(|brokers| brokers.values())
        .filter_map(|broker| broker.get_ref().as_table()?.get("settings"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn excerpt(text: &str, marked: &str) -> Excerpt {
        let start = text.find(marked).expect("the text holds what is marked");
        Source::new(PathBuf::from("c.toml"), text.to_owned()).excerpt(&(start..start + marked.len()))
    }

    #[test]
    fn a_place_is_counted_in_lines_and_characters_from_one() {
        let shown = excerpt("a = 1\r\n\"ü\" = 22\r\n", "22");
        assert_eq!((shown.line, shown.column), (2, 7));
        assert_eq!(shown.text, "\"ü\" = 22");
        assert_eq!(shown.marked, 6..8);
    }

    #[test]
    fn the_end_of_the_file_can_be_marked() {
        let source = Source::new(PathBuf::from("c.toml"), "a = ".to_owned());
        assert_eq!(source.excerpt(&(4..4)).marked, 4..5);
        assert_eq!(source.excerpt(&(99..120)).line, 1);
    }

    #[test]
    fn a_span_over_several_lines_is_marked_to_the_end_of_its_first() {
        assert_eq!(excerpt("a = [1,\n2]", "[1,\n2]").marked, 4..7);
    }

    #[test]
    fn a_long_line_is_cut_on_both_sides_of_its_mark() {
        let shown = excerpt(&format!("{}X{}", "a".repeat(500), "b".repeat(500)), "X");
        assert_eq!(shown.column, 501);
        assert_eq!(shown.text, format!("…{}X{}…", "a".repeat(60), "b".repeat(99)));
        assert_eq!(shown.marked, 61..62);
        let shown = excerpt(&format!("key = {}", "b".repeat(500)), &"b".repeat(500));
        assert_eq!(shown.text, format!("key = {}…", "b".repeat(100)));
        assert_eq!(shown.marked, 6..106);
    }

    #[test]
    fn passwords_are_masked_and_the_mark_moves_with_them() {
        let shown = excerpt(r#"a = { url = "amqp://me:hunter2@host/v", declare = 3 }"#, "3");
        assert_eq!(shown.text, r#"a = { url = "amqp://me:***@host/v", declare = 3 }"#);
        assert_eq!(&shown.text[shown.marked], "3");
        for broken in
            [r#"url = "amqp://me:hunt/er2@host"#, "url = amqp://me:hunt#er2@host", "url = 'amqp://:hunter2@h'"]
        {
            let shown = excerpt(broken, "url");
            assert!(!shown.text.contains("er2") && !shown.text.contains("hunt"), "{}", shown.text);
        }
    }

    #[test]
    fn the_query_of_an_address_is_masked_wherever_the_mistake_is() {
        let shown = excerpt(r#"h = { url = "http://me:hunter2@host:80/p?key=S3CRET", colour = 3 }"#, "colour");
        assert_eq!(shown.text, r#"h = { url = "http://me:***@host:80/p?***", colour = 3 }"#);
        assert_eq!(&shown.text[shown.marked], "colour");
        for of_a_query in [
            r#"h = { url = "http://host?S3CRET", colour = 3 }"#,
            r#"h = { url = "http://host:80/?key=S3CRET@S3CRET", colour = 3 }"#,
            r#"h = { url = "http://host/?key=S3CRET:S3CRET@S3CRET", colour = 3 }"#,
            r#"h = { url = "http://host/?a=http://S3CRET:80/?S3CRET", colour = 3 }"#,
            r#"h = { ulr = "http://host/?S3CRET", colour = 3 }"#,
            r#"h = { url = "host/?S3CRET", colour = 3 }"#,
            r#"h = { urls = ["a", "me:S3CRET@host"], colour = 3 }"#,
            r#"h = { url = "http:\u002f/host/\u003FS3CRET", colour = 3 }"#,
            r#"h = { url = "http://me:S3CRET@host/?S3CRET, colour = 3 }"#,
        ] {
            let shown = excerpt(of_a_query, "h =");
            assert!(!shown.text.contains("S3CRET"), "{}", shown.text);
        }
        let shown = excerpt("h = \"\"\"http://me:S3CRET\\\n@host\"\"\"", "h =");
        assert!(!shown.text.contains("S3CRET"), "{}", shown.text);
    }

    #[test]
    fn what_is_secret_in_an_address_is_masked_in_messages() {
        assert_eq!(
            masked("no \"http://me:a@h/?b\", and no \"http://h/?c\""),
            "no \"http://me:***@h/?***\", and no \"http://h/?***\""
        );
        assert_eq!(masked("no \"amqp://me:a?b@h\""), "no \"amqp://me:***\"");
    }

    #[test]
    fn header_and_environment_values_are_masked() {
        let shown = excerpt(r#"h = { headers = { authorization = "Bearer 1234" }, env = { A = "5678" } }"#, "h =");
        assert_eq!(shown.text, "h = { headers = { authorization = *** }, env = { A = *** } }");
    }

    #[test]
    fn where_a_secret_is_may_be_seen_and_a_variable_of_that_name_may_not() {
        let shown = excerpt(
            r#"h = { headers = { a = { env = "A" }, b = { file = "/run/b" } }, env = { file = "5678" } }"#,
            "h =",
        );
        assert_eq!(
            shown.text,
            r#"h = { headers = { a = { env = "A" }, b = { file = "/run/b" } }, env = { file = *** } }"#
        );
        let shown = excerpt(r#"b = { url = { env = "URL" }, password = "5678" }"#, "b =");
        assert_eq!(shown.text, r#"b = { url = { env = "URL" }, password = *** }"#);
    }
}
