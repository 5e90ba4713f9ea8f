//! A message's life as people read it.

use std::collections::{BTreeSet, HashMap};

use super::merge::Recorded;
use super::show::Event;
use super::words;
use crate::cli::dead_letters::excerpt;
use crate::cli::policy::words::action;
use crate::cli::style::Style;
use crate::failure::attribute;
use crate::journal::{CandidateMode, End, EndKind, Entry, OutcomeKind};

/// Characters of a text that are shown.
const TEXT: usize = 300;

/// The lines: first what it came to, then each event.
pub(super) fn tell(events: &[Event], style: Style) -> Vec<String> {
    let mut lines = heading(events, style);
    // On each route: the attempt and the redrives that were seen last.
    let mut seen: HashMap<&str, (u32, u64)> = HashMap::new();
    for event in events {
        lines.push(String::new());
        match event {
            Event::Failed(recorded) => {
                let entry = &recorded.entry;
                let redrives = redrives(entry);
                let (before, redriven) = seen.get(entry.route.as_str()).copied().unwrap_or((0, 0));
                if redrives > redriven {
                    lines.push(style.info("put back from the dead letters; its attempts count from 1 again"));
                } else if entry.failure.attempt > before + 1 {
                    lines.push(style.warning(&missing(before + 1, entry.failure.attempt - 1)));
                }
                seen.insert(&entry.route, (entry.failure.attempt, redrives));
                failed(recorded, &mut lines, style);
            }
            Event::Ended { host, end } => lines.push(ended(host, end, style)),
        }
    }
    lines
}

fn heading(events: &[Event], style: Style) -> Vec<String> {
    let failures: Vec<_> = events.iter().filter_map(entry).collect();
    let hosts: BTreeSet<_> = events.iter().map(host).collect();
    let routes: BTreeSet<_> = events.iter().map(route).collect();
    let id = failures.first().map(|entry| words::id(entry)).unwrap_or_default();
    let join = |names: BTreeSet<&str>| names.into_iter().collect::<Vec<_>>().join(", ");
    let times = if failures.len() == 1 { "1 failure".to_owned() } else { format!("{} failures", failures.len()) };
    vec![
        format!("{}  {}", style.bold(&format!("message {id}")), conclusion(events)),
        style.dim(&format!("{times} recorded, route {}, host {}", join(routes), join(hosts))),
    ]
}

/// What is last known of it.
fn conclusion(events: &[Event]) -> String {
    match events.last() {
        None => String::new(),
        Some(Event::Ended { end, .. }) => match end.kind {
            EndKind::Succeeded => format!("succeeded at attempt {}", end.attempt),
            EndKind::Skipped => "was dealt with before, and acknowledged without another attempt".to_owned(),
            EndKind::Released => "is the broker's again, undecided".to_owned(),
        },
        Some(Event::Failed(recorded)) => match recorded.entry.outcome.as_ref() {
            None => "failed, and what became of it is not known".to_owned(),
            Some(outcome) => {
                let what = words::outcome(Some(outcome));
                match (outcome.kind, outcome.due) {
                    (OutcomeKind::RetryScheduled | OutcomeKind::Delayed, Some(due)) => {
                        format!("{what}, due {}; nothing is recorded after that", words::time(due))
                    }
                    (OutcomeKind::Requeued, _) => format!("{what}; nothing is recorded after that"),
                    _ => what,
                }
            }
        },
    }
}

fn failed(Recorded { host, entry }: &Recorded, lines: &mut Vec<String>, style: Style) {
    let failure = &entry.failure;
    let tier = failure.tier.as_deref().map(|tier| format!(", back from tier {tier}")).unwrap_or_default();
    let interrupted = match failure.interruptions {
        0 => String::new(),
        times => format!(", {times} attempts before it were cut off"),
    };
    let (time, attempt, route, id) = (words::time(failure.now), failure.attempt, &entry.route, entry.id);
    lines.push(format!(
        "{time}  {}{tier}{interrupted}  {}",
        style.bold(&format!("attempt {attempt} failed")),
        style.dim(&format!("route {route}, host {host}, #{id}"))
    ));
    let mut line = |name: &str, value: &str| lines.push(format!("   {} {value}", style.dim(&format!("{name:<9}"))));
    let error = &failure.error;
    line("error", &format!("{}  {}", style.bad(&excerpt(&error.kind, TEXT)), excerpt(&error.text, TEXT)));
    let maker = entry.maker.as_ref().map_or_else(|| "no policy".to_owned(), ToString::to_string);
    match &entry.answer {
        Ok(verdict) => {
            line("verdict", &format!("{}, by {maker}", excerpt(&action(&verdict.action), TEXT)));
            reason(&verdict.reason, &mut line);
        }
        Err(fault) => {
            line("fault", &style.bad(&format!("{maker} gave no verdict: {}", excerpt(&fault.to_string(), TEXT))));
            if let Some(fallback) = entry.outcome.as_ref().and_then(|outcome| outcome.fallback.as_ref()) {
                line("verdict", &format!("{}, by the fallback", excerpt(&action(&fallback.action), TEXT)));
                reason(&fallback.reason, &mut line);
            }
        }
    }
    if let Some(candidate) = &entry.candidate {
        let mode = match candidate.mode {
            CandidateMode::Shadow => "beside it",
            CandidateMode::Canary => "in its place",
        };
        let said = match &candidate.answer {
            Ok(verdict) => action(&verdict.action),
            Err(fault) => fault.to_string(),
        };
        line("candidate", &format!("{} was asked {mode}: {}", candidate.maker, excerpt(&said, TEXT)));
    }
    let Some(outcome) = &entry.outcome else {
        line("outcome", &style.warning("not known: the host ended before it was durable, or has not got so far"));
        return;
    };
    if let Some(why) = &outcome.overridden {
        line("override", &style.warning(&excerpt(why, TEXT)));
    }
    let due = outcome.due.map(|due| format!(", due {}", words::time(due))).unwrap_or_default();
    line("outcome", &format!("{}{due}", words::outcome(Some(outcome))));
}

fn reason(reason: &str, line: &mut impl FnMut(&str, &str)) {
    if !reason.is_empty() {
        line("reason", &excerpt(reason, TEXT));
    }
}

fn ended(host: &str, end: &End, style: Style) -> String {
    let what = match end.kind {
        EndKind::Succeeded => style.good(&format!("attempt {} succeeded", end.attempt)),
        EndKind::Skipped => "acknowledged without an attempt: it was dealt with before".to_owned(),
        EndKind::Released => "handed back to the broker, undecided".to_owned(),
    };
    let detail = end.detail.as_deref().map(|detail| format!(": {}", excerpt(detail, TEXT))).unwrap_or_default();
    let place = style.dim(&format!("route {}, host {host}", end.route));
    format!("{}  {what}{detail}  {place}", words::time(end.at))
}

fn missing(from: u32, to: u32) -> String {
    let attempts = if from == to { format!("attempt {from} is") } else { format!("attempts {from} to {to} are") };
    format!("{attempts} not in these journals: another host's, interrupted, or not recorded")
}

fn redrives(entry: &Entry) -> u64 {
    let mut all = entry.failure.attributes.iter();
    all.find(|(name, _)| name == attribute::REDRIVES).and_then(|(_, times)| times.parse().ok()).unwrap_or(0)
}

fn entry(event: &Event) -> Option<&Entry> {
    match event {
        Event::Failed(recorded) => Some(&recorded.entry),
        Event::Ended { .. } => None,
    }
}

fn host(event: &Event) -> &str {
    match event {
        Event::Failed(recorded) => &recorded.host,
        Event::Ended { host, .. } => host,
    }
}

fn route(event: &Event) -> &str {
    match event {
        Event::Failed(recorded) => &recorded.entry.route,
        Event::Ended { end, .. } => &end.route,
    }
}
