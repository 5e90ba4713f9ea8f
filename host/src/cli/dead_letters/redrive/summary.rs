//! What a redrive did, as people read it.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use crate::cli::dead_letters::place::Place;
use crate::cli::dead_letters::view::excerpt;
use crate::cli::style::Style;
use crate::dead_letters::redrive::{Done, Ended, Redrive, Skip};

/// Letters of one reason that are named.
const NAMED: usize = 5;

pub(super) struct Summary<'a> {
    pub(super) place: &'a Place,
    pub(super) wanted: &'a Redrive,
    pub(super) done: &'a Done,
    pub(super) ended: &'a Ended,
    pub(super) took: Duration,
    pub(super) style: Style,
}

impl fmt::Display for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (done, style) = (self.done, self.style);
        let place = format!("'{}' on broker '{}'", self.place.queue, self.place.broker_name);
        if done.depth == 0 {
            return write!(f, "{place} is empty");
        }
        writeln!(f, "{} dead letters were in {place}\n", done.depth)?;
        let moved = if self.wanted.dry_run { "would go back" } else { "put back" };
        for (queue, count) in &done.redriven {
            writeln!(f, "  {} {count:>7}  to {queue}", style.good(&format!("{moved:<14}")))?;
        }
        if done.redriven.is_empty() {
            writeln!(f, "  {moved:<14} {:>7}", 0)?;
        }
        if done.filtered > 0 {
            writeln!(f, "  {:<14} {:>7}  of another error kind", "left", done.filtered)?;
        }
        for (why, ids) in self.skipped() {
            let named = ids.iter().take(NAMED).map(|id| excerpt(id, 64)).collect::<Vec<_>>().join(", ");
            let more = if ids.len() > NAMED { ", …" } else { "" };
            let label = style.warning(&format!("{:<14}", "skipped"));
            writeln!(f, "  {label} {:>7}  {}: {named}{more}", ids.len(), excerpt(&why.to_string(), 300))?;
        }
        if done.unacknowledged > 0 {
            let label = style.warning(&format!("{:<14}", "perhaps twice"));
            writeln!(f, "  {label} {:>7}  put back, and perhaps still in the queue", done.unacknowledged)?;
        }
        if done.renewed > 0 {
            write!(f, "  {:<14} {:>7}  ", "renewed", done.renewed)?;
            match &done.limit_unknown {
                None => writeln!(f, "handed back often, so put at the end of the queue anew")?,
                Some(why) => writeln!(
                    f,
                    "put at the end of the queue anew: how often it takes a letter back is not known ({})",
                    excerpt(why, 300)
                )?,
            }
        }
        let took =
            humantime::format_duration(Duration::from_millis(self.took.as_millis().try_into().unwrap_or(u64::MAX)));
        write!(f, "\n{}, in {took}", self.ended())?;
        if done.skipped.iter().any(|skipped| skipped.why == Skip::NotOurs) {
            write!(f, "\nname a queue for letters without a known origin with --to")?;
        }
        if done.skipped.iter().any(|skipped| matches!(skipped.why, Skip::RedrivenTooOften(_))) {
            write!(
                f,
                "\nonce their cause is mended, a higher --max-redrives takes those that were redriven too often"
            )?;
        }
        Ok(())
    }
}

impl Summary<'_> {
    fn skipped(&self) -> BTreeMap<&Skip, Vec<&str>> {
        let mut skipped: BTreeMap<&Skip, Vec<&str>> = BTreeMap::new();
        for letter in &self.done.skipped {
            skipped.entry(&letter.why).or_default().push(letter.id.as_deref().unwrap_or("(no id)"));
        }
        skipped
    }

    fn ended(&self) -> String {
        let style = self.style;
        match self.ended {
            Ended::All => "all were looked at".to_owned(),
            Ended::Max => "as many as were asked for".to_owned(),
            Ended::Interrupted => style.warning("interrupted: the rest is in the dead-letter queue"),
            Ended::Full => style.warning(
                "stopped: letters that stay are held until the end, and there were too many or for too long; the rest is in \
                 the dead-letter queue, and another run goes on",
            ),
            Ended::Elsewhere => {
                style.warning("stopped: the other letters are in the hands of another consumer of this queue")
            }
            Ended::Stopped(why) => {
                format!("{} {}; the rest is in the dead-letter queue", style.bad("stopped:"), excerpt(why, 600))
            }
        }
    }
}
