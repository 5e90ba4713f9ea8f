//! The table at the end, and whether the run was as it must be.

use std::collections::BTreeMap;
use std::fmt;

use crate::books::{Circumstances, Judgement};
use crate::faults::{Kind, OF_A_HOST, OF_ALL};
use crate::host::SLOTS;
use crate::rig::Rig;
use crate::stalls::{Stall, longest};
use crate::story;

/// A host that does nothing for longer, for no reason that the rig gave, has failed.
const LONGEST_STALL: f64 = 30.0;

/// What a run came to.
pub(crate) struct Report {
    pub(crate) judgement: Judgement,
    faults: BTreeMap<Kind, usize>,
    stall: Option<Stall>,
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
        let hosts = rig.plan.hosts;
        let dropped = story::dropped(rig);
        let mut counts = BTreeMap::new();
        for fault in &faults {
            *counts.entry(fault.kind).or_default() += 1;
        }
        rig.books.read(|messages| Self {
            judgement: Judgement::of(
                messages,
                &Circumstances { faults: &faults, slots: SLOTS, hosts, dropped: &dropped },
            ),
            faults: counts,
            stall: longest(&rig.samples(), messages, &faults, hosts),
            complaints: rig.complaints(),
            strangers: rig.books.strangers(),
            drained: rig.has_drained(),
            interrupted,
            seconds: rig.clock.now(),
            command: rig.plan.command(),
        })
    }

    /// Nothing was lost, repeated without cause, miscounted or stuck, and no host ended by itself.
    pub(crate) fn passed(&self) -> bool {
        self.failures().is_empty()
    }

    /// Why not.
    fn failures(&self) -> Vec<String> {
        let judgement = &self.judgement;
        let mut failures = self.complaints.clone();
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
        let (duplicates, bound) = (judgement.duplicates(), judgement.bound);
        demand(duplicates <= bound, format!("{duplicates} duplicates, more than the {bound} that faults explain"));
        let stall = self.stall.map_or(0.0, |stall| stall.seconds);
        demand(stall <= LONGEST_STALL, format!("a host did nothing for {stall:.0} s, though messages were ready"));
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
        let bound = format!("at most {}: what was in work at the faults that repeat", judgement.bound);
        row("duplicates in all", judgement.duplicates(), bound)?;
        row(
            "counts checked exactly",
            judgement.counts_checked,
            "attempts of messages that no fault touched".to_owned(),
        )?;
        for kind in OF_A_HOST.into_iter().chain(OF_ALL) {
            row(kind.name(), self.faults.get(&kind).copied().unwrap_or_default(), String::new())?;
        }
        match self.stall {
            Some(Stall { host, begin, seconds }) => writeln!(
                f,
                "  {:<32} {seconds:>6.1} s  host {host} at {begin:.0} s, not counting what the rig caused",
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
