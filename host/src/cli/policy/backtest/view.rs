//! The report, for people.

use std::collections::BTreeMap;
use std::fmt;

use humantime::format_duration;

use super::Judging;
use crate::cli::style::Style;
use crate::journal::backtest::{Change, Count, Example, Faults, Gap, Override, Report};

/// Groups of changes that are shown; the rest is counted.
const GROUPS: usize = 20;

/// Headers that were not kept and are named; the rest is counted.
const GAPS: usize = 10;

/// The longest bar.
const BAR: u64 = 20;

const LEVELS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

pub(super) struct View<'a> {
    pub(super) judging: Vec<Judging>,
    pub(super) source: String,
    pub(super) journals: Vec<String>,
    pub(super) report: &'a Report,
    /// Bytes of the body that a candidate reads.
    pub(super) body: Option<usize>,
    /// It was interrupted.
    pub(super) is_partial: bool,
    pub(super) violations: &'a [String],
    pub(super) style: Style,
}

impl fmt::Display for View<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { judging, source, report, style, .. } = self;
        for Judging { route, policy, against } in judging {
            let route = route.as_ref().filter(|_| judging.len() > 1).map(|route| format!(" on {route}"));
            let against = if against == super::RECORDED { "what was recorded" } else { against };
            writeln!(f, "{} against {against}{}", style.bold(policy), route.unwrap_or_default())?;
        }
        writeln!(f, "{}\n", style.dim(source))?;
        if self.is_partial {
            writeln!(f, "  {}", style.warning("interrupted: this is about the failures that were judged until then"))?;
        }
        self.coverage(f)?;
        let share = |part: u64| if report.judged == 0 { 0.0 } else { part as f64 * 100.0 / report.judged as f64 };
        writeln!(f, "  same     {:>10}  {:>5.1} %", report.same, share(report.same))?;
        writeln!(f, "  changed  {:>10}  {:>5.1} %", report.changed, share(report.changed))?;
        self.groups(f)?;
        self.faults(f)?;
        if report.changed > 0 {
            self.outcomes(f)?;
            self.waits(f)?;
            self.load(f)?;
        }
        self.messages(f)?;
        self.violations.iter().try_for_each(|violation| writeln!(f, "\n{} {violation}", style.bad("beyond the limit")))
    }
}

impl View<'_> {
    fn coverage(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { failures, judged, incomplete, gaps, .. } = self.report;
        writeln!(f, "  judged   {judged:>10}  of {failures} failures")?;
        if *incomplete == 0 {
            return Ok(());
        }
        let done = if judged == failures { "judged all the same" } else { "left out" };
        let label = self.style.warning("gaps   ");
        writeln!(f, "  {label}  {incomplete:>10}  lack what the policy reads, and are {done}:")?;
        for (gap, count) in gaps.iter().take(GAPS) {
            writeln!(f, "           {count:>10}  {gap}")?;
        }
        if gaps.len() > GAPS {
            writeln!(f, "           {:>10}  more: --json has them", gaps.len() - GAPS)?;
        }
        let cure = cure(gaps, self.body);
        if cure.is_empty() {
            return Ok(());
        }
        writeln!(f, "           {}", self.style.dim(&format!("to keep it from now on: [journal] {cure}")))
    }

    fn groups(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let groups = &self.report.groups;
        if groups.is_empty() {
            return Ok(());
        }
        let width = |of: fn(&Change) -> &str, least: usize| {
            let shown = groups.iter().take(GROUPS).map(|group| of(&group.change).chars().count());
            shown.max().unwrap_or(0).max(least)
        };
        let kinds = width(|change| &change.error_kind, 5);
        let (from, to) = (width(|change| &change.from, 6), width(|change| &change.to, 5));
        let title =
            format!("  {:<kinds$}  {:<from$}    {:<to$}  {:>10}  entries", "error", "before", "after", "failures");
        writeln!(f, "\n{}", self.style.bold(&title))?;
        for group in groups.iter().take(GROUPS) {
            let (Change { error_kind, from: before, to: after }, count) = (&group.change, group.count);
            let examples = self.examples(&group.examples);
            writeln!(f, "  {error_kind:<kinds$}  {before:<from$}  → {after:<to$}  {count:>10}  {examples}")?;
        }
        let rest = groups.iter().skip(GROUPS);
        let (kinds, failures) = (rest.clone().count(), rest.map(|group| group.count).sum::<u64>());
        if kinds > 0 {
            writeln!(f, "  and {kinds} more kinds of changes, {failures} failures: --json has them")?;
        }
        if self.journals.len() > 1 {
            for (number, journal) in (1..).zip(&self.journals) {
                writeln!(f, "  {}", self.style.dim(&format!("{number}#… is in {journal}")))?;
            }
        }
        writeln!(f, "  {}", self.style.dim("one of them, whole: reprieve journal show '#…'"))
    }

    fn faults(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let faults = &self.report.faults;
        let rows = faults.iter().map(|fault| (format!("fault: {}", fault.kind), fault.count)).collect();
        self.table(f, "no verdict", rows)?;
        for Faults { kind, text, examples, .. } in faults {
            if let Some(text) = text {
                // A panic says first where it was, and then what.
                let line = text.lines().take(2).collect::<Vec<_>>().join(" ");
                writeln!(f, "  {}", self.style.dim(&format!("{kind}: {line}  {}", self.examples(examples))))?;
            }
        }
        Ok(())
    }

    fn outcomes(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.report.outcomes.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
        self.table(f, "outcomes", rows)?;
        let overrides = &self.report.overrides;
        let named = |one: &Override| (format!("{} becomes {}", one.verdict, one.outcome), one.count);
        self.table(f, "overrides", overrides.iter().map(named).collect())?;
        for Override { verdict, text, .. } in overrides {
            writeln!(f, "  {}", self.style.dim(&format!("{verdict}: {text}")))?;
        }
        Ok(())
    }

    fn waits(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let waits = &self.report.waits;
        let most = waits.iter().map(|waits| waits.count.before.max(waits.count.after)).max().unwrap_or(0);
        if most == 0 {
            return Ok(());
        }
        let title = format!("  {:<16}  {:>10}  {:>10}", "next attempt in", "before", "after");
        writeln!(f, "\n{}", self.style.bold(&title))?;
        for waits in waits {
            let Count { before, after } = waits.count;
            let (was, is) = (bar(before, most), bar(after, most));
            writeln!(f, "{}", format!("  {:<16}  {before:>10}  {after:>10}  {was:<20}  {is}", waits.name).trim_end())?;
        }
        Ok(())
    }

    fn table(&self, f: &mut fmt::Formatter<'_>, title: &str, rows: Vec<(String, Count)>) -> fmt::Result {
        if rows.is_empty() {
            return Ok(());
        }
        let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0).max(16);
        writeln!(f, "\n{}", self.style.bold(&format!("  {title:<width$}  {:>10}  {:>10}", "before", "after")))?;
        for (name, Count { before, after }) in rows {
            let growth = growth(before, after);
            writeln!(f, "{}", format!("  {name:<width$}  {before:>10}  {after:>10}  {growth}").trim_end())?;
        }
        Ok(())
    }

    /// Attempts that follow, over time.
    fn load(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let load = &self.report.load;
        let most = load.attempts.iter().map(|count| count.before.max(count.after)).max().unwrap_or(0);
        if most == 0 {
            return Ok(());
        }
        let row = |of: fn(&Count) -> u64| load.attempts.iter().map(|count| level(of(count), most)).collect::<String>();
        let span = format_duration(std::time::Duration::from_millis(load.span_ms));
        let title = format!("  attempts that follow, from {}, {span} a column, at most {most}", load.from);
        writeln!(f, "\n{}", self.style.bold(&title))?;
        writeln!(f, "  before {}", row(|count| count.before).trim_end())?;
        writeln!(f, "  after  {}", row(|count| count.after).trim_end())
    }

    fn messages(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(followed) = self.report.messages.filter(|followed| followed.messages > 0) else { return Ok(()) };
        let saved = followed.saved_failures;
        let rows = [
            ("as before", followed.same, String::new()),
            ("sooner", followed.sooner, format!("at their end, which spares {saved} failures")),
            ("otherwise", followed.otherwise, "ended, at the same failure".to_owned()),
            ("unknown", followed.unknown, "tried again where they ended, or at another time".to_owned()),
            ("not judged", followed.not_judged, "to the end, for what was not kept".to_owned()),
        ];
        writeln!(f, "\n{}", self.style.bold("  whole messages, as far as the record tells"))?;
        for (name, count, what) in rows {
            writeln!(f, "{}", format!("  {name:<10} {count:>8}  {what}").trim_end())?;
        }
        match followed.failures_without_id {
            0 => Ok(()),
            count => writeln!(f, "  {count} failures are of messages without an id, and are not followed"),
        }
    }

    fn examples(&self, examples: &[Example]) -> String {
        let name = |example: &Example| match self.journals.len() {
            0 | 1 => format!("#{}", example.entry),
            _ => format!("{}#{}", example.journal + 1, example.entry),
        };
        examples.iter().map(name).collect::<Vec<_>>().join(" ")
    }
}

/// What to write for it to be kept.
fn cure(gaps: &BTreeMap<Gap, u64>, body: Option<usize>) -> String {
    let header = |gap: &Gap| if let Gap::Header(name) = gap { Some(format!("{name:?}")) } else { None };
    let headers: Vec<_> = gaps.keys().filter_map(header).collect();
    let headers = match headers.len() {
        0 => None,
        1..=GAPS => Some(format!("headers = [{}]", headers.join(", "))),
        _ => Some("headers = [\"*\"]".to_owned()),
    };
    let body =
        body.filter(|_| gaps.keys().any(|gap| matches!(gap, Gap::Body(_)))).map(|bytes| format!("body = \"{bytes}B\""));
    headers.into_iter().chain(body).collect::<Vec<_>>().join(", ")
}

fn level(value: u64, most: u64) -> char {
    let eighths = value.saturating_mul(8).div_ceil(most.max(1));
    LEVELS[usize::try_from(eighths).unwrap_or(8).min(8)]
}

fn bar(value: u64, most: u64) -> String {
    let length = value.saturating_mul(BAR).div_ceil(most.max(1));
    "█".repeat(usize::try_from(length).unwrap_or(0))
}

fn growth(before: u64, after: u64) -> String {
    match (before, after) {
        (before, after) if before == after => String::new(),
        (0, _) => "new".to_owned(),
        _ => format!("{:+.1} %", (after as f64 / before as f64 - 1.0) * 100.0),
    }
}
