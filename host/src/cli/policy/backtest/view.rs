//! The report, for people.

use std::fmt;

use crate::cli::style::Style;
use crate::journal::backtest::{Count, Report};

/// Groups of changes that are shown; the rest is counted.
const GROUPS: usize = 20;

/// Hours that the chart of the load is drawn in, at most.
const COLUMNS: usize = 60;

const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

pub(super) struct View<'a> {
    pub(super) maker: String,
    pub(super) compared: String,
    pub(super) source: String,
    pub(super) report: &'a Report,
    pub(super) violations: &'a [String],
    pub(super) style: Style,
}

impl fmt::Display for View<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { maker, compared, source, report, style, .. } = self;
        writeln!(f, "{} against {compared}", style.bold(maker))?;
        writeln!(f, "{}\n", style.dim(source))?;
        self.coverage(f)?;
        let share = |part: u64| if report.judged == 0 { 0.0 } else { part as f64 * 100.0 / report.judged as f64 };
        writeln!(f, "  same     {:>10}  {:>5.1} %", report.same, share(report.same))?;
        writeln!(f, "  changed  {:>10}  {:>5.1} %", report.changed, share(report.changed))?;
        self.groups(f)?;
        if report.changed > 0 {
            self.table(f, "verdicts", report.actions.iter().map(|(name, count)| (name.clone(), *count)))?;
            let delays = report.delays.iter().map(|(index, count)| (Report::delay_name(*index), *count));
            self.table(f, "waits", delays)?;
            self.load(f)?;
        }
        self.messages(f)?;
        for violation in self.violations {
            writeln!(f, "\n{} {violation}", style.bad("beyond the limit"))?;
        }
        Ok(())
    }
}

impl View<'_> {
    fn coverage(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { failures, judged, gaps, .. } = self.report;
        let lacking: u64 = gaps.values().sum();
        writeln!(f, "  judged   {judged:>10}  of {failures} failures")?;
        for (gap, count) in gaps {
            writeln!(f, "  {}  {count:>10}  {gap}", self.style.warning("gap    "))?;
        }
        if lacking > 0 {
            let text = "what is kept is said in [journal] of the host's configuration: headers, body, mask";
            writeln!(f, "           {}", self.style.dim(text))?;
        }
        Ok(())
    }

    fn groups(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let groups = &self.report.groups;
        if groups.is_empty() {
            return Ok(());
        }
        let width = |of: fn(&crate::journal::backtest::Change) -> &str, least: usize| {
            let shown = groups.iter().take(GROUPS).map(|group| of(&group.change).chars().count());
            shown.max().unwrap_or(0).max(least)
        };
        let kinds = width(|change| &change.error_kind, 10);
        let (from, to) = (width(|change| &change.from, 6), width(|change| &change.to, 5));
        let head =
            format!("  {:<kinds$}  {:<from$}    {:<to$}  {:>10}  entries", "error", "before", "after", "failures");
        writeln!(f, "\n{}", self.style.bold(&head))?;
        for group in groups.iter().take(GROUPS) {
            let examples: Vec<_> = group.examples.iter().map(|id| format!("#{id}")).collect();
            let (change, count) = (&group.change, group.count);
            writeln!(
                f,
                "  {:<kinds$}  {:<from$}  → {:<to$}  {count:>10}  {}",
                change.error_kind,
                change.from,
                change.to,
                examples.join(" ")
            )?;
        }
        let rest = groups.iter().skip(GROUPS);
        let (kinds, failures) = (rest.clone().count(), rest.map(|group| group.count).sum::<u64>());
        if kinds > 0 {
            writeln!(f, "  and {kinds} more kinds of changes, {failures} failures: --json has them")?;
        }
        Ok(())
    }

    fn table(
        &self,
        f: &mut fmt::Formatter<'_>,
        title: &str,
        rows: impl Iterator<Item = (String, Count)>,
    ) -> fmt::Result {
        let rows: Vec<_> = rows.collect();
        if rows.is_empty() {
            return Ok(());
        }
        let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0).max(14);
        writeln!(f, "\n{}", self.style.bold(&format!("  {title:<width$}  {:>10}  {:>10}", "before", "after")))?;
        for (name, Count { before, after }) in rows {
            writeln!(f, "  {name:<width$}  {before:>10}  {after:>10}  {}", growth(before, after))?;
        }
        Ok(())
    }

    /// Attempts that follow, over time.
    fn load(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let load = &self.report.load;
        let (Some((first, _)), Some((last, _))) = (load.first_key_value(), load.last_key_value()) else {
            return Ok(());
        };
        let hours = last - first + 1;
        let each = hours.div_ceil(COLUMNS as u64);
        let columns = usize::try_from(hours.div_ceil(each)).unwrap_or(COLUMNS);
        let mut sums = vec![Count::default(); columns];
        for (hour, count) in load {
            let column = usize::try_from((hour - first) / each).unwrap_or(0);
            sums[column].before += count.before;
            sums[column].after += count.after;
        }
        let most = sums.iter().map(|count| count.before.max(count.after)).max().unwrap_or(0);
        let row = |of: fn(&Count) -> u64| sums.iter().map(|count| bar(of(count), most)).collect::<String>();
        let title = format!("  attempts that follow, {each} h a column, at most {most}");
        writeln!(f, "\n{}", self.style.bold(&title))?;
        writeln!(f, "  before {}", row(|count| count.before))?;
        writeln!(f, "  after  {}", row(|count| count.after))
    }

    fn messages(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let followed = self.report.messages;
        if followed.messages == 0 {
            return Ok(());
        }
        writeln!(f, "\n{}", self.style.bold("  whole messages, as far as the record tells"))?;
        writeln!(f, "  as before {:>9}", followed.same)?;
        let saved = followed.saved_failures;
        writeln!(f, "  sooner    {:>9}  at their end, which spares {saved} failures", followed.sooner)?;
        writeln!(f, "  otherwise {:>9}  at the same failure", followed.otherwise)?;
        writeln!(f, "  unknown   {:>9}  tried again where they ended, or at another time", followed.unknown)
    }
}

fn bar(value: u64, most: u64) -> char {
    let eighths = (value * 8).div_ceil(most.max(1));
    BARS[usize::try_from(eighths).unwrap_or(8).min(8)]
}

fn growth(before: u64, after: u64) -> String {
    match (before, after) {
        (before, after) if before == after => String::new(),
        (0, _) => "new".to_owned(),
        _ => format!("{:+.1} %", (after as f64 / before as f64 - 1.0) * 100.0),
    }
}
