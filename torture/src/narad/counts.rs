//! What the node itself counted, across its restarts.

use anyhow::{Context as _, Result};
use serde_json::Value;

/// A row of the table.
type Row = (&'static str, usize, String);

#[derive(Debug, Clone, Copy)]
pub(super) struct Counts {
    handed_over: usize,
    again: usize,
    given_back: usize,
    acks: usize,
    acks_again: usize,
    done: usize,
    gone: usize,
    other: usize,
}

impl Counts {
    pub(super) fn read(counts: &Value) -> Result<Self> {
        let number = |name: &str| {
            let number = counts[name].as_u64().with_context(|| format!("no {name} in {counts}"))?;
            usize::try_from(number).context("too many")
        };
        Ok(Self {
            handed_over: number("handed_over")?,
            again: number("again")?,
            given_back: number("given_back")?,
            acks: number("acks")?,
            acks_again: number("acks_again")?,
            done: number("done")?,
            gone: number("gone")?,
            other: number("other")?,
        })
    }

    /// `most`: how many leases the faults can have ended.
    pub(super) fn rows(&self, most: usize) -> Vec<Row> {
        vec![
            ("handed over", self.handed_over, "source and tiers".to_owned()),
            ("handed over again", self.again, format!("of them {} that a host gave back", self.given_back)),
            (
                "leases that ran out",
                self.ran_out(),
                format!("at most {most}: what hosts can have in hand, at each fault"),
            ),
            ("acks", self.acks, "asked for, answered or not".to_owned()),
            (
                "acks tried again",
                self.acks_again,
                format!("answers: {} done, {} gone, {} of another status", self.done, self.gone, self.other),
            ),
        ]
    }

    /// A storm: more comes again than faults explain.
    pub(super) fn failure(&self, most: usize) -> Option<String> {
        let ran_out = self.ran_out();
        (ran_out > most).then(|| format!("{ran_out} leases ran out, more than the {most} that faults explain"))
    }

    const fn ran_out(&self) -> usize {
        self.again.saturating_sub(self.given_back)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_back_is_no_storm_and_what_runs_out_beyond_the_faults_is() {
        let counts = serde_json::json!({
            "handed_over": 50, "again": 20, "given_back": 15, "acks": 30, "acks_again": 2, "done": 28, "gone": 1, "other": 1,
        });
        let counts = Counts::read(&counts).unwrap();
        assert_eq!(counts.failure(5), None);
        assert!(counts.failure(4).is_some_and(|why| why.starts_with("5 leases")));
        assert!(Counts::read(&serde_json::json!({})).is_err());
    }
}
