//! A dead letter as people read it.

use std::fmt::Write as _;
use std::time::Duration;

use crate::cli::style::Style;
use crate::dead_letters::letter::Story;
use crate::dead_letters::peek::Letter;
use crate::message::{HeaderValue, Message};
use crate::timestamp::Timestamp;

/// Characters of a body, an error or a reason that are shown unless all is asked for.
const EXCERPT: usize = 160;

/// A few lines on one letter, without the last line's end.
pub(super) fn letter(number: usize, letter: &Letter, full: bool, now: Timestamp, style: Style) -> String {
    let message = &letter.message;
    let mut text = format!("{}  {}", style.dim(&number.to_string()), style.bold(&id(message)));
    let most = if full { usize::MAX } else { EXCERPT };
    let mut line = |name: &str, value: &str| {
        write!(text, "\n   {} {value}", style.dim(&format!("{name:<8}"))).expect("a String takes all that is written");
    };
    match &letter.story {
        Some(story) => of_story(story, most, now, style, &mut line),
        None => line("origin", &style.warning("not known: no host wrote on this message")),
    }
    if full {
        for (name, value) in message.headers.iter() {
            line("header", &format!("{}: {}", excerpt(name, most), header(value)));
        }
    }
    let size = message.body_size();
    let kind = message.properties.content_type.as_deref().map(|kind| format!(", {}", excerpt(kind, EXCERPT)));
    let unit = if size == 1 { "byte" } else { "bytes" };
    line("body", &format!("{size} {unit}{}", kind.unwrap_or_default()));
    if size > 0 {
        let body = message.body.as_deref().unwrap_or_default();
        match std::str::from_utf8(body) {
            Ok(body) if full => body.lines().for_each(|text| line("", &escaped(text))),
            Ok(body) => line("", &excerpt(body, most)),
            Err(_) => line("", &style.dim("(no text; --json has it)")),
        }
    }
    text.push('\n');
    text
}

fn of_story(story: &Story, most: usize, now: Timestamp, style: Style, line: &mut impl FnMut(&str, &str)) {
    let kind = excerpt(&story.error_kind, EXCERPT);
    line("error", &format!("{}  {}", style.bad(&kind), excerpt(&story.error, most)));
    let attempts = match story.attempts {
        1 => "after 1 attempt".to_owned(),
        attempts => format!("after {attempts} attempts"),
    };
    match story.failed_at {
        Some(at) => line("failed", &format!("{attempts}, {at} ({})", ago(at, now))),
        None => line("failed", &attempts),
    }
    if let Some(first) = story.first_failed_at.filter(|first| Some(*first) != story.failed_at) {
        line("", &style.dim(&format!("for the first time {first} ({})", ago(first, now))));
    }
    let redrives = match story.redrives {
        0 => String::new(),
        1 => style.warning(", redriven once"),
        times => style.warning(&format!(", redriven {times} times")),
    };
    let (origin, route) = (excerpt(&story.origin, EXCERPT), excerpt(&story.route, EXCERPT));
    let place = story.origin_place.map(|(partition, offset)| format!(", partition {partition}, offset {offset}"));
    line("origin", &format!("{origin}{}, route {route}{redrives}", place.unwrap_or_default()));
    if let Some(reason) = &story.reason {
        line("reason", &excerpt(reason, most));
    }
    if let Some(policy) = &story.policy {
        line("policy", &excerpt(policy, EXCERPT));
    }
    if let Some(at) = story.expires_at {
        match at.0 <= now.0 {
            true => line("expired", &format!("{at} ({}); a redrive takes that off", ago(at, now))),
            false => line("expires", &format!("{at}; a redrive takes that off")),
        }
    }
}

/// The message's id, or what stands for it.
pub(super) fn id(message: &Message) -> String {
    message.id.as_deref().map_or_else(|| "(no id)".to_owned(), |id| excerpt(id, EXCERPT))
}

/// The beginning of a text on one line, without anything that a terminal would act on.
pub(in crate::cli) fn excerpt(text: &str, most: usize) -> String {
    let mut shown = String::new();
    for (number, character) in text.trim().chars().enumerate() {
        if number == most {
            shown.push('…');
            break;
        }
        match character {
            space if space.is_whitespace() && shown.ends_with(' ') => {}
            space if space.is_whitespace() => shown.push(' '),
            control if control.is_control() => shown.extend(control.escape_default()),
            other => shown.push(other),
        }
    }
    shown
}

/// A line of text with its spaces, without anything that a terminal would act on.
fn escaped(line: &str) -> String {
    let mut shown = String::new();
    for character in line.chars() {
        match character {
            control if control.is_control() && control != '\t' => shown.extend(control.escape_default()),
            other => shown.push(other),
        }
    }
    shown
}

fn header(value: &HeaderValue) -> String {
    match value.as_str() {
        Some(text) => excerpt(text, usize::MAX),
        None => serde_json::to_string(value).unwrap_or_else(|error| error.to_string()),
    }
}

/// The two largest units of how long ago that was.
fn ago(at: Timestamp, now: Timestamp) -> String {
    let seconds = Duration::from_secs(now.since(at).as_secs());
    let long = humantime::format_duration(seconds).to_string();
    let short: Vec<_> = long.split(' ').take(2).collect();
    format!("{} ago", short.join(" "))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn shown(message: Message, full: bool) -> String {
        let story = Story::read(&message, &["reprieve-".to_owned()]);
        let now = humantime::parse_rfc3339("2026-03-01T12:00:00Z").unwrap().into();
        letter(1, &Letter { message: Arc::new(message), story }, full, now, Style::PLAIN)
    }

    fn dead() -> Message {
        let mut message = Message::new("{\n  \"id\": 7\n}")
            .with_id("A7")
            .with_header("tenant", HeaderValue::I16(7))
            .with_header("reprieve-attempts", 3u32)
            .with_header("reprieve-origin-topic", "orders")
            .with_header("reprieve-route", "orders")
            .with_header("reprieve-error-kind", "http-503")
            .with_header("reprieve-error", "503 Service Unavailable")
            .with_header("reprieve-failed-at", "2026-03-01T10:00:00.000Z")
            .with_header("reprieve-first-failed-at", "2026-03-01T09:00:00.000Z")
            .with_header("reprieve-expires-at", "2026-03-01T10:05:00.000Z")
            .with_header("reprieve-redrives", 1u32)
            .with_header("reprieve-reason", "the attempts are used up")
            .with_header("reprieve-policy", "standard@1f3870be274f");
        message.properties.content_type = Some("application/json".to_owned());
        message
    }

    #[test]
    fn a_letter_tells_its_story() {
        insta::assert_snapshot!(shown(dead(), false), @r#"
        1  A7
           error    http-503  503 Service Unavailable
           failed   after 3 attempts, 2026-03-01T10:00:00.000Z (2h ago)
                    for the first time 2026-03-01T09:00:00.000Z (3h ago)
           origin   orders, route orders, redriven once
           reason   the attempts are used up
           policy   standard@1f3870be274f
           expired  2026-03-01T10:05:00.000Z (1h 55m ago); a redrive takes that off
           body     13 bytes, application/json
                    { "id": 7 }
        "#);
    }

    #[test]
    fn a_letter_of_a_log_tells_its_place_there() {
        let letter = dead().with_header("reprieve-origin-partition", "3").with_header("reprieve-origin-offset", "1042");
        let text = shown(letter, false);
        assert!(text.contains("origin   orders, partition 3, offset 1042, route orders, redriven once"), "{text}");
    }

    #[test]
    fn all_of_a_letter_is_its_headers_and_its_body_line_by_line() {
        let text = shown(dead(), true);
        assert!(text.contains("header   tenant: {\"i16\":7}"), "{text}");
        assert!(text.ends_with("{\n              \"id\": 7\n            }\n"), "{text}");
    }

    #[test]
    fn a_letter_that_no_host_wrote_on_says_so() {
        insta::assert_snapshot!(shown(Message::new(vec![0xff]), false), @r"
        1  (no id)
           origin   not known: no host wrote on this message
           body     1 byte
                    (no text; --json has it)
        ");
    }

    #[test]
    fn nothing_that_a_terminal_acts_on_gets_there() {
        let text = shown(Message::new("a\x1b[31mred").with_id("x\x07"), true);
        assert!(!text.contains(['\x1b', '\x07']), "{text:?}");
    }
}
