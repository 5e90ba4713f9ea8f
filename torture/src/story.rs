//! What befell one message, from the books and from the hosts' logs.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;

use serde_json::Value;

use crate::books::{Message, Trouble, id, number};
use crate::rig::Rig;

/// More would not be read.
const MOST: usize = 5;

/// One thing that happened, with the seconds since 1970 for the order.
type Line = (f64, String);

/// Prints the stories of the first messages with which something is wrong.
pub(crate) fn tell(rig: &Rig, troubles: &[Trouble]) {
    for trouble in troubles.iter().take(MOST) {
        println!("\n{trouble}");
        let mut lines = rig.books.read(|messages| from_books(rig, &messages[&trouble.number]));
        lines.extend(from_faults(rig, lines.as_slice()));
        for host in 0..rig.plan.hosts {
            lines.extend(from_log(rig, host, &id(trouble.number)));
        }
        lines.sort_by(|one, other| one.0.total_cmp(&other.0));
        for (at, what) in lines {
            match at {
                f64::MAX => println!("  at the end   {what}"),
                at => println!("  {:>9.3} s  {what}", at - rig.clock.since_epoch(0.0)),
            }
        }
    }
    if troubles.len() > MOST {
        println!("\nand {} more", troubles.len() - MOST);
    }
}

fn from_books(rig: &Rig, message: &Message) -> Vec<Line> {
    let at = |moment| rig.clock.since_epoch(moment);
    let mut lines = vec![(at(message.sent), "sent".to_owned())];
    lines.extend(message.confirmed.map(|moment| (at(moment), "confirmed".to_owned())));
    for run in &message.runs {
        lines.push((at(run.began), format!("handler: asked by host {}, attempt {}", run.host, run.attempt)));
        lines.extend(run.ended.map(|end| (at(end), format!("handler: answers host {}: {}", run.host, run.answer))));
    }
    for letter in &message.dead_letters {
        lines.push((at(letter.at), format!("dead letter taken from {} ({})", letter.queue, letter.made)));
    }
    lines.extend(message.left_on.iter().map(|queue| (f64::MAX, format!("still on {queue}"))));
    lines
}

fn from_faults(rig: &Rig, lines: &[Line]) -> Vec<Line> {
    let (first, last) =
        lines.iter().fold((f64::MAX, 0.0_f64), |(first, last), (at, _)| (first.min(*at), last.max(*at)));
    let line = |moment: f64, what: String| (rig.clock.since_epoch(moment), what);
    let mut told = Vec::new();
    for fault in rig.faults.all() {
        let whom = fault.host.map(|host| format!(" on host {host}")).unwrap_or_default();
        told.push(line(fault.begin, format!("fault: {}{whom} {}", fault.kind.name(), fault.detail)));
        told.extend(fault.end.map(|end| line(end, format!("fault over: {}{whom}", fault.kind.name()))));
    }
    told.retain(|(at, _)| (first - 2.0..=last + 2.0).contains(at));
    told
}

/// The messages that hosts say they dropped, by number.
pub(crate) fn dropped(rig: &Rig) -> BTreeSet<u64> {
    let paths = (0..rig.plan.hosts).map(|host| log(rig, host));
    let lines = paths.filter_map(|path| File::open(path).ok()).flat_map(|file| BufReader::new(file).lines());
    lines
        .map_while(Result::ok)
        .filter(|line| line.contains(r#""message":"dropped""#))
        .filter_map(|line| number(serde_json::from_str::<Value>(&line).ok()?["id"].as_str()?))
        .collect()
}

fn log(rig: &Rig, host: usize) -> PathBuf {
    rig.plan.folder.join(format!("host-{host}/host.log"))
}

fn from_log(rig: &Rig, host: usize, id: &str) -> Vec<Line> {
    let Ok(file) = File::open(log(rig, host)) else { return Vec::new() };
    let lines = BufReader::new(file).lines().map_while(Result::ok).filter(|line| line.contains(id));
    let read = |line: String| {
        let fields: Value = serde_json::from_str(&line).ok().filter(|fields: &Value| fields["id"] == id)?;
        Some((seconds(fields["timestamp"].as_str()?)?, shown(host, &fields)))
    };
    lines.filter_map(read).collect()
}

/// A log line without what is the same in all.
fn shown(host: usize, fields: &Value) -> String {
    let mut text = format!("host {host}: {}", fields["message"].as_str().unwrap_or_default());
    for (name, value) in fields.as_object().into_iter().flatten() {
        if !["id", "timestamp", "level", "target", "message", "route", "source", "error"].contains(&name.as_str()) {
            text += &format!(", {name} {value}");
        }
    }
    text
}

/// A time of day of RFC 3339 in UTC, as the log writes it, in seconds since 1970.
fn seconds(timestamp: &str) -> Option<f64> {
    let (date, time) = timestamp.strip_suffix('Z')?.split_once('T')?;
    let mut numbers = date.split('-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (numbers.next()??, numbers.next()??, numbers.next()??);
    let mut parts = time.split(':').map(|part| part.parse::<f64>().ok());
    let (hours, minutes, seconds) = (parts.next()??, parts.next()??, parts.next()??);
    // Days since 1970, with years that begin in March so that the odd day comes last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1 - 719_468;
    Some(days as f64 * 86_400.0 + hours * 3600.0 + minutes * 60.0 + seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_a_log_are_read() {
        assert_eq!(seconds("1970-01-01T00:00:00.000000Z"), Some(0.0));
        assert_eq!(seconds("2024-02-29T12:00:00.5Z"), Some(1_709_208_000.5));
        assert_eq!(seconds("today"), None);
    }
}
