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
/// Those of them that hold secrets by name.
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
        let mut secrets = passwords_in(&text);
        for (key, value) in root.get_ref() {
            collect_secrets(SECRET_KEYS.contains(&&**key.get_ref()), false, value, &mut secrets);
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

/// Adds every text below a secret key, but for those that only say where the secret is.
fn collect_secrets(
    secret: bool,
    holds_secrets: bool,
    value: &toml::Spanned<DeValue<'_>>,
    found: &mut Vec<Range<usize>>,
) {
    match value.get_ref() {
        DeValue::String(_) if secret => found.push(value.span()),
        DeValue::Array(items) => items.iter().for_each(|item| collect_secrets(secret, holds_secrets, item, found)),
        DeValue::Table(table) => {
            let names_a_place = table.len() == 1 && table.keys().all(|key| PLACES.contains(&&**key.get_ref()));
            for (key, value) in table {
                // A header or a variable may have one of these names itself.
                if names_a_place && matches!(value.get_ref(), DeValue::String(_)) && !holds_secrets {
                    continue;
                }
                let key = &**key.get_ref();
                collect_secrets(secret || SECRET_KEYS.contains(&key), SECRET_TABLES.contains(&key), value, found);
            }
        }
        _ => {}
    }
}

/// A message with the passwords of all addresses in it masked: whatever is in a file may stand in the wrong place.
pub(super) fn masked(text: &str) -> String {
    let mut shown = text.to_owned();
    // From the end, so that the places before stay where they are.
    for password in passwords_in(text).into_iter().rev() {
        shown.replace_range(password, MASK);
    }
    shown
}

/// The passwords of all addresses in the text, also where it is not TOML: what stands between the first colon after
/// `://` and the last `@` before the text ends, by its quote where it has one.
fn passwords_in(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for (scheme, _) in text.match_indices("://") {
        let authority = scheme + "://".len();
        let line = text[..scheme].rfind('\n').map_or(0, |newline| newline + 1);
        let quote = text[line..scheme].chars().rev().find(|character| matches!(character, '"' | '\''));
        let rest = &text[authority..];
        let end = rest.find(|character| character == '\n' || Some(character) == quote).unwrap_or(rest.len());
        let address = &rest[..end];
        if let (Some(colon), Some(at)) = (address.find(':'), address.rfind('@'))
            && colon < at
            // Another address may follow before the quote; its password is within this range then.
            && found.last().is_none_or(|last: &Range<usize>| last.end <= authority)
        {
            found.push(authority + colon + 1..authority + at);
        }
    }
    found
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
