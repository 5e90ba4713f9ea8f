//! `reprieve why`

use std::fmt;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::Args;
use serde_json::{Value, json};

use super::journal::show::{Event, files, life};
use super::journal::source::{Source, SourceArguments};
use super::journal::words;
use super::style::Style;
use crate::config::ConfigError;
use crate::failure::DeadLetter;
use crate::journal::{Entry, Step, StepKind};
use crate::timestamp::Timestamp;
use crate::verdict::Maker;

/// Say why a message is where it is
///
/// From a message's id, or from a dead letter, to the failure that was judged last, the verdict with its reason, and the very
/// policy that gave it. Read from the journal of the host; where that has nothing of the message, from the dead letter's headers.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub struct WhyArguments {
    /// The message's id; or the number of an entry, as #1042
    #[arg(value_name = "ID", required_unless_present = "dead_letter")]
    id: Option<String>,

    /// A dead letter instead, as `reprieve dead-letters peek --json`, the management API or `rabbitmqadmin get` prints it; - is
    /// standard input
    #[arg(short, long, value_name = "FILE", conflicts_with = "id")]
    dead_letter: Option<PathBuf>,

    #[command(flatten)]
    source: SourceArguments,

    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  reprieve why 4711
  reprieve why 4711 --journal host-1/state --journal host-2/state
  reprieve dead-letters peek --max 1 --json | reprieve why --dead-letter -
  reprieve journal show 4711             the whole life of the message

Exit codes:
  0  said
  1  nothing is known of the message, or the command failed
  2  the arguments or the configuration are wrong";

/// Prints what is known.
///
/// # Errors
/// Nothing is known of the message, or what should say it cannot be read.
pub fn why(arguments: &WhyArguments) -> anyhow::Result<ExitCode> {
    let letter = arguments.dead_letter.as_deref().map(read).transpose()?;
    let id = arguments.id.clone().or_else(|| letter.as_ref()?.failure.message.id.clone());
    let answer = match (&id, arguments.source.open()) {
        (Some(id), Ok(sources)) => match (life(&sources, id), &letter) {
            (Ok(events), _) => recorded(&sources, &events)?,
            (Err(_), Some(letter)) => Answer::of_headers(letter, &format!("{} has nothing of it", files(&sources))),
            (Err(error), None) => return Err(error),
        },
        (_, Err(error)) if letter.is_none() => return Err(error),
        (None, Ok(_)) if letter.is_none() => bail!("there is no message to ask about"),
        _ => match &letter {
            Some(letter) => Answer::of_headers(letter, "there is no journal to look it up in"),
            None => bail!("there is no message to ask about"),
        },
    };
    let mut out = std::io::stdout().lock();
    if arguments.json {
        writeln!(out, "{:#}", answer.json())?;
    } else {
        write!(out, "{}", View { answer: &answer, style: Style::for_stdout() })?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What is known of a message's last failure.
#[derive(Debug, Default, PartialEq)]
struct Answer {
    /// What became of the message.
    end: String,
    /// Each with what it is called.
    lines: Vec<(&'static str, String)>,
    /// Where that is known from.
    from: String,
}

/// The last failure of a message, from the journal.
fn recorded(sources: &[Source], events: &[Event]) -> anyhow::Result<Answer> {
    let failures: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::Failed(recorded) => Some(recorded),
            Event::Ended { .. } => None,
        })
        .collect();
    let Some(last) = failures.last() else { bail!("it never failed in what is recorded of it") };
    let entry = &last.entry;
    let after = match events.last() {
        Some(Event::Ended { end, .. }) => {
            format!(", and then {}", serde_json::to_value(end.kind)?.as_str().unwrap_or_default())
        }
        _ => String::new(),
    };
    let mut answer = Answer {
        end: format!(
            "{} of route {}: {}{after}",
            words::id(entry),
            entry.route,
            words::outcome(entry.outcome.as_ref())
        ),
        from: format!("the journal of {}, entry #{}", last.host, entry.id),
        lines: of_entry(entry),
    };
    if let Some(maker) = &entry.maker {
        let mut steps = Vec::new();
        for source in sources {
            steps.extend(source.reader.steps(Some(&entry.route))?);
        }
        answer.lines.push(("policy", judged_by(maker, &steps, entry.failure.now)));
    }
    let before = failures.len() - 1;
    if before > 0 {
        let text = format!("{before} recorded before this one; reprieve journal show {} tells them", words::id(entry));
        answer.lines.push(("failures", text));
    }
    Ok(answer)
}

fn of_entry(entry: &Entry) -> Vec<(&'static str, String)> {
    let failure = &entry.failure;
    let mut lines = vec![(
        "failure",
        format!(
            "attempt {} at {}: {}: {}",
            failure.attempt,
            words::time(failure.now),
            failure.error.kind,
            failure.error.text
        ),
    )];
    lines.push(("verdict", words::answer(entry)));
    match &entry.answer {
        Ok(verdict) if !verdict.reason.is_empty() => lines.push(("reason", verdict.reason.clone())),
        Ok(_) => {}
        Err(fault) => lines.push(("fault", fault.text.clone())),
    }
    if let Some(outcome) = &entry.outcome {
        if let Some(fallback) = &outcome.fallback {
            let said = crate::cli::policy::words::action(&fallback.action);
            lines.push(("fallback", format!("the host's own judged: {said}: {}", fallback.reason)));
        }
        if let Some(why) = &outcome.overridden {
            lines.push(("override", why.clone()));
        }
    }
    lines
}

/// Which policy, from which file, since when when it judged at this time, and whether it still does as far as is recorded.
fn judged_by(maker: &Maker, steps: &[Step], at: Timestamp) -> String {
    let of_it = |kind| steps.iter().filter(move |step| step.kind == kind && step.maker.as_ref() == Some(maker));
    let before = |kind| of_it(kind).filter(|step| step.at <= at).max_by_key(|step| step.at);
    let began = before(StepKind::WentLive).or_else(|| before(StepKind::CandidateBegan));
    let mut text = maker.to_string();
    if let Some(step) = began {
        let kind = if step.kind == StepKind::WentLive { "live" } else { "a candidate" };
        text.push_str(&format!(", {kind} since {}", words::time(step.at)));
        if let Some(digest) = &step.digest {
            text.push_str(&format!(", from the file sha256:{digest}"));
        }
        let left = of_it(StepKind::Left).filter(|left| left.at >= at).min_by_key(|left| left.at);
        match left {
            Some(left) => text.push_str(&format!(", until {} ({})", words::time(left.at), left.reason)),
            None => text.push_str(", and still so, as far as is recorded"),
        }
    }
    text
}

impl Answer {
    fn of_headers(letter: &DeadLetter, why: &str) -> Self {
        let failure = &letter.failure;
        let id = failure.message.id.as_deref().unwrap_or("a message without an id");
        let route = letter.route.as_deref().unwrap_or("a route that is not named");
        let mut lines =
            vec![("failure", format!("attempt {}: {}: {}", failure.attempt, failure.error.kind, failure.error.text))];
        lines.extend(letter.reason.clone().map(|reason| ("reason", reason)));
        lines.extend(letter.policy.clone().map(|policy| ("policy", policy)));
        Self {
            end: format!("{id} of route {route}: dead-lettered"),
            lines,
            from: format!("the dead letter's headers: {why}"),
        }
    }

    fn json(&self) -> Value {
        let lines: serde_json::Map<_, _> =
            self.lines.iter().map(|(name, text)| ((*name).to_owned(), json!(text))).collect();
        json!({ "message": self.end, "known_from": self.from, "why": lines })
    }
}

struct View<'a> {
    answer: &'a Answer,
    style: Style,
}

impl fmt::Display for View<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { answer, style } = self;
        writeln!(f, "{}\n", style.bold(&answer.end))?;
        for (name, text) in &answer.lines {
            writeln!(f, "  {name:<10}{text}")?;
        }
        writeln!(f, "\n  {}", style.dim(&format!("known from {}", answer.from)))
    }
}

fn read(file: &Path) -> anyhow::Result<DeadLetter> {
    let (name, text) = if file.as_os_str() == "-" {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).context("cannot read the dead letter from standard input")?;
        ("standard input".to_owned(), text)
    } else {
        let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        (file.display().to_string(), text)
    };
    let wrong = |what: String| {
        ConfigError::Unusable(format!(
            "{name} is no dead letter: {what}\n = help: give what `reprieve dead-letters peek --max 1 --json` prints"
        ))
    };
    let value: Value = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    let letter = DeadLetter::from_printed(&value).map_err(|error| wrong(error.to_string()))?;
    Ok(letter.ok_or_else(|| wrong("it has none of the headers that a host writes".to_owned()))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn maker() -> Maker {
        Maker { policy: "patient".to_owned(), revision: "ab".repeat(32) }
    }

    fn step(kind: StepKind, at: u64) -> Step {
        Step {
            at: Timestamp(at),
            route: "orders".to_owned(),
            kind,
            maker: Some(maker()),
            replaced: None,
            digest: Some("cd".repeat(32)),
            size: None,
            signed_by: None,
            decisions: None,
            faults: None,
            reason: "another took its place".to_owned(),
        }
    }

    #[test]
    fn the_policy_is_named_with_its_file_and_the_time_that_it_was_live() {
        let judged_by = |steps: &[Step]| judged_by(&maker(), steps, Timestamp(500));
        let live = judged_by(&[step(StepKind::WentLive, 0)]);
        assert!(
            live.starts_with("patient@abababababab, live since 1970-01-01 00:00:00.000, from the file sha256:cdcd")
        );
        assert!(live.ends_with("and still so, as far as is recorded"), "{live}");
        let left =
            judged_by(&[step(StepKind::WentLive, 0), step(StepKind::Left, 1000), step(StepKind::WentLive, 2000)]);
        assert!(left.ends_with(", until 1970-01-01 00:00:01.000 (another took its place)"), "{left}");
        let candidate = judged_by(&[step(StepKind::CandidateBegan, 0)]);
        assert!(candidate.contains("a candidate since"), "{candidate}");
        assert_eq!(judged_by(&[step(StepKind::WentLive, 900)]), "patient@abababababab", "not yet");
    }

    #[test]
    fn without_a_journal_the_headers_say_what_they_can() {
        let printed = json!({
            "reprieve-attempts": 3, "reprieve-error-kind": "timeout", "reprieve-error": "too slow",
            "reprieve-reason": "enough", "reprieve-policy": "patient@abab", "reprieve-route": "orders",
        });
        let letter = DeadLetter::from_printed(&printed).unwrap().unwrap();
        let answer = Answer::of_headers(&letter, "there is no journal to look it up in");
        insta::assert_snapshot!(View { answer: &answer, style: Style::PLAIN }, @r"
        a message without an id of route orders: dead-lettered

          failure   attempt 3: timeout: too slow
          reason    enough
          policy    patient@abab

          known from the dead letter's headers: there is no journal to look it up in
        ");
        assert_eq!(answer.json()["why"]["reason"], "enough");
    }
}
