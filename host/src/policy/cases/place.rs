//! Places in the text of a table.

use std::fmt;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A place in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

impl Place {
    /// The place of a byte.
    pub(super) fn of(text: &str, byte: usize) -> Self {
        let before = &text[..text.floor_char_boundary(byte)];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self { line: before.matches('\n').count() + 1, column: before[line_start..].chars().count() + 1 }
    }

    /// Where a path such as `case[2].expect.delay` leads in a TOML text, or as far as it leads.
    pub(super) fn in_toml(text: &str, path: &str) -> Option<Self> {
        let root = DeTable::parse(text).ok()?;
        let mut found = None;
        let mut value: Option<&Spanned<DeValue<'_>>> = None;
        for name in path.split(['.', '[']).map(|name| name.trim_end_matches(']')).filter(|name| !name.is_empty()) {
            let table = value.map_or(Some(root.get_ref()), |value| value.get_ref().as_table());
            let next = match (table, value.and_then(|value| value.get_ref().as_array())) {
                (Some(table), _) => table.get_key_value(name).map(|(key, value)| (key.span(), value)),
                (None, Some(array)) => {
                    name.parse().ok().and_then(|index: usize| array.get(index)).map(|value| (value.span(), value))
                }
                (None, None) => None,
            };
            let Some((span, inside)) = next else { break };
            found = Some(span.start);
            value = Some(inside);
        }
        found.map(|byte| Self::of(text, byte))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "a = 'ä' # \n[[case]]\nname = 'a'\n[[case]]\nexpect = { delay = 'soon' }\n";

    fn place(path: &str) -> Option<String> {
        Place::in_toml(TEXT, path).map(|place| place.to_string())
    }

    #[test]
    fn a_path_leads_to_its_key_or_as_far_as_there_is_one() {
        assert_eq!(place("case[1].expect.delay").as_deref(), Some("5:12"));
        assert_eq!(place("case[1].expect.tier").as_deref(), Some("5:1"));
        assert_eq!(place("case[1].name").as_deref(), Some("4:1"));
        assert_eq!(place("case[9]").as_deref(), Some("2:3"));
        assert_eq!(place(""), None);
        assert_eq!(place("route.tiers"), None);
    }

    #[test]
    fn columns_are_counted_in_characters_and_a_byte_past_the_end_is_the_end() {
        assert_eq!(Place::of(TEXT, 6), Place { line: 1, column: 6 }, "within a character: its start");
        assert_eq!(Place::of(TEXT, 7), Place { line: 1, column: 7 });
        assert_eq!(Place::of("a\nb", 99), Place { line: 2, column: 2 });
    }
}
