//! What a build server accepts: `dead-letter:+5%`, `changed:10%`, `faults:0`.

use std::fmt;
use std::str::FromStr;

use super::{Count, Report};

/// What may be, at most.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    what: What,
    most: Most,
    /// As it was written.
    text: String,
}

#[derive(Debug, Clone, PartialEq)]
enum What {
    Changed,
    Faults,
    Unknown,
    Gaps,
    Outcome(&'static str),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Most {
    /// Percent of what was judged; of messages for `unknown`.
    Share(f64),
    Number(u64),
    /// Percent of what it was before.
    Growth(f64),
    /// More than before.
    More(u64),
}

/// A text that is no limit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "\"{0}\" is no limit: write NAME:LIMIT, such as \"dead-letter:+5%\" (growth), \"drop:+0\", \"changed:10%\" (share) or \"faults:0\"; NAME is changed, faults, unknown, gaps, retry, delay, dead-letter, requeue or drop"
)]
pub struct LimitError(String);

const OUTCOMES: [&str; 5] = ["retry", "delay", "dead-letter", "requeue", "drop"];

impl FromStr for Limit {
    type Err = LimitError;

    fn from_str(text: &str) -> Result<Self, LimitError> {
        let wrong = || LimitError(text.to_owned());
        let (what, most) = text.split_once(':').ok_or_else(wrong)?;
        let what = match what.trim() {
            "changed" => What::Changed,
            "faults" => What::Faults,
            "unknown" => What::Unknown,
            "gaps" => What::Gaps,
            name => What::Outcome(OUTCOMES.into_iter().find(|known| *known == name).ok_or_else(wrong)?),
        };
        let most = most.trim();
        let percent = |text: &str| text.parse::<f64>().ok().filter(|percent| percent.is_finite() && *percent >= 0.0);
        let most = match (most.strip_prefix('+'), most.strip_suffix('%')) {
            (Some(growth), Some(_)) => Most::Growth(percent(&growth[..growth.len() - 1]).ok_or_else(wrong)?),
            (Some(more), None) => Most::More(more.parse().map_err(|_| wrong())?),
            (None, Some(share)) => Most::Share(percent(share).ok_or_else(wrong)?),
            (None, None) => Most::Number(most.parse().map_err(|_| wrong())?),
        };
        // What was not there before cannot grow.
        let grows = matches!(most, Most::Growth(_) | Most::More(_));
        if grows && !matches!(what, What::Outcome(_) | What::Faults) {
            return Err(wrong());
        }
        Ok(Self { what, most, text: text.to_owned() })
    }
}

/// As it was written.
impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Limit {
    /// Whether it is about whole messages.
    #[must_use]
    pub fn follows(&self) -> bool {
        self.what == What::Unknown
    }

    /// How a report goes beyond the limit; `None` where it does not.
    #[must_use]
    pub fn violation(&self, report: &Report) -> Option<String> {
        let (Count { before, after }, of) = self.found(report);
        let most = match self.most {
            Most::Number(most) => most as f64,
            Most::Share(percent) => of as f64 * percent / 100.0,
            Most::More(more) => before.saturating_add(more) as f64,
            Most::Growth(percent) => before as f64 * (1.0 + percent / 100.0),
        };
        let before = match self.most {
            Most::More(_) | Most::Growth(_) => format!(", before {before}"),
            Most::Number(_) | Most::Share(_) => format!(" of {of}"),
        };
        (after as f64 > most).then(|| format!("{}: {after}{before}", self.text))
    }

    fn found(&self, report: &Report) -> (Count, u64) {
        let after = |after| Count { before: 0, after };
        match &self.what {
            What::Changed => (after(report.changed), report.judged),
            What::Unknown => {
                let messages = report.messages.unwrap_or_default();
                (after(messages.unknown + messages.not_judged), messages.messages)
            }
            What::Gaps => (after(report.incomplete), report.failures),
            What::Outcome(name) => (report.outcomes.get(name).copied().unwrap_or_default(), report.judged),
            What::Faults => {
                let mut faults = Count::default();
                report.faults.iter().for_each(|one| faults.add(one.count));
                (faults, report.judged)
            }
        }
    }
}
