//! The table at the end, and whether the run was as it must be.

use std::fmt;

use crate::books::{Circumstances, Judgement};
use crate::broker::Findings;
use crate::faults::Kind;
use crate::rig::Rig;
use crate::stalls::Stall;
use crate::story;

/// A host that does nothing for longer, for no reason that the rig gave, has failed.
const LONGEST_STALL: f64 = 30.0;

/// What a run came to.
pub(crate) struct Report {
    pub(crate) judgement: Judgement,
    findings: Findings,
    /// Every kind, with how often it was inflicted.
    faults: Vec<(Kind, usize)>,
    complaints: Vec<String>,
    strangers: Vec<String>,
    drained: bool,
    interrupted: bool,
    seconds: f64,
    /// What runs it again.
    command: String,
}

impl Report {
    pub(crate) fn of(rig: &Rig, interrupted: bool) -> Self {
        let faults = rig.faults.all();
        let (hosts, repertoire, dropped) = (rig.plan.hosts, rig.repertoire(), story::dropped(rig));
        let circumstances = Circumstances { faults: &faults, hosts, repertoire, dropped: &dropped };
        let mut judgement = rig.books.read(|messages| Judgement::of(messages, &circumstances));
        let mut findings = rig.findings(&faults);
        judgement.troubles.append(&mut findings.troubles);
        let count = |kind| faults.iter().filter(|fault| fault.kind == kind).count();
        Self {
            judgement,
            findings,
            faults: repertoire.all().map(|kind| (kind, count(kind))).collect(),
            complaints: rig.complaints(),
            strangers: rig.books.strangers(),
            drained: rig.has_drained(),
            interrupted,
            seconds: rig.clock.now(),
            command: rig.plan.command(),
        }
    }

    /// Nothing was lost, repeated without cause, miscounted or stuck, and no host ended by itself.
    pub(crate) fn passed(&self) -> bool {
        self.failures().is_empty()
    }

    /// Why not.
    fn failures(&self) -> Vec<String> {
        let judgement = &self.judgement;
        let mut failures = [self.complaints.as_slice(), self.findings.failures.as_slice()].concat();
        let mut demand = |holds: bool, why: String| {
            if !holds {
                failures.push(why);
            }
        };
        demand(!self.interrupted, "it did not come to its end: what was open is not judged".to_owned());
        demand(self.interrupted || self.drained, "messages did not come to their end".to_owned());
        let troubles = judgement.troubles.len();
        demand(
            self.interrupted || troubles == 0,
            format!("{troubles} times something is wrong with a message, see below"),
        );
        let (duplicates, bound) = (judgement.duplicates(), self.findings.bound);
        demand(duplicates <= bound, format!("{duplicates} duplicates, more than the {bound} that faults explain"));
        if let Some(Stall { of, seconds, .. }) = &self.findings.stall {
            let why = format!("nothing was done by {of} for {seconds:.0} s, though messages were ready");
            demand(*seconds <= LONGEST_STALL, why);
        }
        demand(judgement.runs.iter().all(|runs| *runs > 0), "a host took no part in the work".to_owned());
        let strangers = &self.strangers;
        demand(strangers.is_empty(), format!("on the queues was what nobody sent: {}", strangers.join(", ")));
        failures
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let judgement = &self.judgement;
        writeln!(f, "{}\n  in {:.0} s:", self.command, self.seconds)?;
        let mut row = |name: &str, count: usize, remark: String| writeln!(f, "  {name:<32} {count:>8}  {remark}");
        let unconfirmed = format!("beside {} that the broker did not confirm", judgement.unconfirmed);
        row("sent", judgement.sent, unconfirmed)?;
        let by_host: Vec<_> = judgement.runs.iter().map(usize::to_string).collect();
        row("handled", judgement.handled, format!("in attempts by host: {}", by_host.join(", ")))?;
        row("dead-lettered", judgement.dead_lettered, String::new())?;
        row("dropped as scripted", judgement.dropped, String::new())?;
        row("still on a queue at the end", judgement.left, String::new())?;
        row(if self.interrupted { "open at the interruption" } else { "LOST" }, judgement.lost, String::new())?;
        row("handled again after a success", judgement.handled_again, String::new())?;
        row("dead-lettered again", judgement.dead_lettered_again, String::new())?;
        let bound = format!("at most {}: {}", self.findings.bound, self.findings.bound_is);
        row("duplicates in all", judgement.duplicates(), bound)?;
        row(
            "counts checked exactly",
            judgement.counts_checked,
            "attempts of messages that no fault touched".to_owned(),
        )?;
        for (name, count, remark) in &self.findings.rows {
            row(name, *count, remark.clone())?;
        }
        for (kind, count) in &self.faults {
            row(kind.name(), *count, String::new())?;
        }
        match &self.findings.stall {
            Some(Stall { of, begin, seconds }) => writeln!(
                f,
                "  {:<32} {seconds:>6.1} s  {of} at {begin:.0} s, not counting what the rig caused",
                "longest stall"
            )?,
            None => writeln!(f, "  {:<32} {:>8}", "longest stall", "none")?,
        }
        let failures = self.failures();
        for failure in &failures {
            writeln!(f, "FAILED: {failure}")?;
        }
        if failures.is_empty() {
            writeln!(f, "passed: nothing was lost")?;
        }
        Ok(())
    }
}
