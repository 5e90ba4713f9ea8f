//! Log lines without what differs from run to run.

/// The part of an AMQP URL that may be shown: `127.0.0.1:5672`.
pub(crate) fn host_and_port(url: &str) -> String {
    let rest = url.split('@').next_back().unwrap_or_default();
    rest.split('/').next().unwrap_or_default().to_owned()
}

/// The text with each of `names` replaced by what it stands for.
pub(crate) fn replaced(text: &str, names: &[(&str, &str)]) -> String {
    names.iter().fold(text.to_owned(), |text, (name, meaning)| text.replace(name, meaning))
}

/// Whether a log entry begins with this line, rather than going on with it: `2026-…`.
pub(crate) fn begins(line: &str) -> bool {
    line.split_once('-').is_some_and(|(year, _)| year.len() == 4 && year.bytes().all(|byte| byte.is_ascii_digit()))
}

/// A log line without its time and module, and with the digest of a revision as `REVISION`.
pub(crate) fn shown(line: &str) -> String {
    let (_time, rest) = line.split_once('Z').expect("a log line begins with its time");
    let (level, rest) = rest.trim_start().split_once(' ').expect("then comes the level");
    let (_module, rest) = rest.split_once(": ").expect("then the module");
    format!("{level} {}", without_digests(rest))
}

/// `policy@` and twelve hexadecimal digits as `policy@REVISION`.
fn without_digests(text: &str) -> String {
    let is_digest = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut pieces = text.split('@');
    let mut shown = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        shown.push('@');
        match piece.split_at_checked(12) {
            Some((digits, rest)) if is_digest(digits) => shown.extend(["REVISION", rest]),
            _ => shown.push_str(piece),
        }
    }
    shown
}
