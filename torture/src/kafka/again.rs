//! What was run again though the group had committed past it: that no rebalance explains.

use super::log::Log;
use crate::books::{Message, Run, Trouble};
use crate::broker::Course;
use crate::faults::Kind;

pub(super) fn troubles(course: &Course<'_>, log: &Log) -> Vec<Trouble> {
    let trouble = |(number, message): (&u64, &Message)| {
        let settled = log.settled(*number)?;
        let is_again = |run: &Run| run.began > settled && !may_not_know(run, course);
        let what = "it was run again though the group had committed past it";
        message.runs.iter().any(is_again).then_some(Trouble { number: *number, what })
    };
    course.messages.iter().filter_map(trouble).collect()
}

/// A host that does not hear of the group works on what others have taken over, until it hears of that.
fn may_not_know(run: &Run, course: &Course<'_>) -> bool {
    let aftermath = super::REPERTOIRE.aftermath;
    course.faults.iter().any(|fault| {
        matches!(fault.kind, Kind::Cut | Kind::Stall | Kind::KillBroker | Kind::StopBroker)
            && fault.concerns(run.host)
            && fault.touches(run.began - aftermath, run.began)
    })
}
