//! What routes, brokers, policies and labels may be called.

use toml::Spanned;

use super::problem::Problems;

/// The longest name, in bytes. Names stand in headers, metrics and file names.
const LONGEST: usize = 100;

/// Reports a text that is not a name: a letter or digit first, then letters, digits, `-`, `_` and `.`.
pub(super) fn check_name(problems: &Problems<'_>, what: &str, text: &Spanned<&str>) -> bool {
    let name = *text.get_ref();
    let good = name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && name.chars().all(|character| character.is_ascii_alphanumeric() || "-_.".contains(character))
        && name.len() <= LONGEST;
    if !good {
        problems.error(
            &text.span(),
            format!("\"{}\" cannot be {what}", name.escape_debug()),
            format!("write at most {LONGEST} letters, digits, `-`, `_` and `.`, beginning with a letter or digit"),
        );
    }
    good
}
