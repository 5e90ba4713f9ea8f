//! Short clean texts out of what handlers and messages say, which can be anything of any length.

use std::borrow::Cow;

use crate::message::HeaderValue;

/// The longest error kind, in bytes: kinds become header values and metric labels.
const MAX_KIND: usize = 64;
/// The longest line for a person, in bytes.
const MAX_LINE: usize = 1024;
/// The longest detail, in bytes.
pub(super) const MAX_DETAIL: usize = 8 * 1024;
/// Stands where text was cut.
const CUT: &str = "…";

/// A header's text, or its whole number in decimal digits.
pub(super) fn header_text(value: &HeaderValue) -> Option<Cow<'_, str>> {
    value.as_str().map(Cow::Borrowed).or_else(|| value.as_i64().map(|number| number.to_string().into()))
}

/// An error kind: surrounding space removed, every character but ASCII letters, digits and `.` `_` `:` `-`
/// replaced by `-`, at most 64 bytes. Nothing where no letter or digit is left.
pub(super) fn kind(raw: &str) -> Option<String> {
    let clean = |c: char| if c.is_ascii_alphanumeric() || "._:-".contains(c) { c } else { '-' };
    let kind: String = raw.trim().chars().map(clean).take(MAX_KIND).collect();
    kind.contains(|c: char| c.is_ascii_alphanumeric()).then_some(kind)
}

/// The first line with something on it, without control characters, at most 1 KiB.
pub(super) fn first_line(raw: &str) -> Option<String> {
    raw.lines().find_map(line)
}

fn line(raw: &str) -> Option<String> {
    let clean: String = head(raw.trim(), MAX_LINE).chars().filter(|c| !c.is_control()).collect();
    let clean = clean.trim();
    (!clean.is_empty()).then(|| clean.to_owned())
}

/// The first 8 KiB, where there is anything but white space.
pub(super) fn detail(raw: &str) -> Option<String> {
    let raw = raw.trim_end();
    (!raw.trim_start().is_empty()).then(|| head(raw, MAX_DETAIL))
}

/// At most `limit` bytes from the start, the mark of the cut included.
fn head(raw: &str, limit: usize) -> String {
    if raw.len() <= limit {
        return raw.to_owned();
    }
    let end = raw.floor_char_boundary(limit - CUT.len());
    format!("{}{CUT}", &raw[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_short_and_fit_for_a_header_and_a_label() {
        assert_eq!(kind(" validation ").as_deref(), Some("validation"));
        assert_eq!(kind("java.io.IOException").as_deref(), Some("java.io.IOException"));
        assert_eq!(kind("Connection refused\r\nX: y").as_deref(), Some("Connection-refused--X:-y"));
        assert_eq!(kind("größe").as_deref(), Some("gr--e"));
        assert_eq!(kind(&"k".repeat(500)).map(|kind| kind.len()), Some(MAX_KIND));
        for nothing in [" \n", "\u{fffd} \u{fffd}", "--"] {
            assert_eq!(kind(nothing), None);
        }
    }

    #[test]
    fn a_line_is_one_line_without_control_characters() {
        assert_eq!(first_line("\n\n \tno \u{1b}[31mstock\u{7}  \nsecond").as_deref(), Some("no [31mstock"));
        assert_eq!(first_line("\n \n"), None);
    }

    #[test]
    fn what_is_cut_says_so_and_stays_within_its_limit() {
        let long = first_line(&"ä".repeat(5000)).unwrap();
        assert!(long.len() <= MAX_LINE && long.ends_with("ä…"), "{} bytes", long.len());
        let detail = detail(&"x".repeat(MAX_DETAIL + 1)).unwrap();
        assert!(detail.len() == MAX_DETAIL && detail.ends_with("x…"));
    }

    #[test]
    fn a_detail_of_white_space_is_none() {
        assert_eq!(detail(" \n\t"), None);
        assert_eq!(detail("  indented\n").as_deref(), Some("  indented"));
    }
}
