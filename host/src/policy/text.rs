//! Bounding text that comes from outside.

use std::borrow::Cow;

/// What stands where text was cut.
pub(super) const CUT_MARK: &str = "…";

/// The text, or as many of its characters as fit into `limit` bytes with [`CUT_MARK`] behind them.
pub(super) fn cut(text: &str, limit: usize) -> Cow<'_, str> {
    if text.len() <= limit {
        return Cow::Borrowed(text);
    }
    let end = text.floor_char_boundary(limit.saturating_sub(CUT_MARK.len()));
    Cow::Owned(format!("{}{CUT_MARK}", &text[..end]))
}

/// One line for a person: control characters become spaces, and what is longer than `limit` bytes is cut.
pub(super) fn one_line(text: &str, limit: usize) -> String {
    cut(text, limit).chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_between_characters_and_marked() {
        assert_eq!(cut("short", 5), "short");
        assert_eq!(cut("ääää", 7), "ää…");
        assert_eq!(cut("text", 0), CUT_MARK);
    }

    #[test]
    fn a_line_has_no_control_characters() {
        assert_eq!(one_line("two\nlines\u{1b}[31m", 100), "two lines [31m");
    }
}
