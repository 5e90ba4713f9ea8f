use super::*;
use crate::journal::{FILE, Log, Step, StepKind};
use crate::timestamp::Timestamp;
use crate::verdict::Maker;

fn maker(policy: &str, digit: &str) -> Option<Maker> {
    Some(Maker { policy: policy.to_owned(), revision: digit.repeat(64) })
}

fn step(kind: StepKind, at: u64, maker: Option<Maker>, reason: &str) -> Step {
    Step {
        at: Timestamp(1_772_366_400_000 + at * 1000),
        route: "orders".to_owned(),
        kind,
        maker,
        replaced: None,
        digest: (kind == StepKind::WentLive).then(|| "c".repeat(64)),
        size: (kind == StepKind::WentLive).then_some(40_960),
        signed_by: None,
        decisions: (kind == StepKind::RolledBack).then_some(12),
        faults: (kind == StepKind::RolledBack).then_some(3),
        reason: reason.to_owned(),
    }
}

#[test]
fn each_policys_time_is_shown_with_what_happened_in_between() {
    let folder = tempfile::tempdir().unwrap();
    let mut log = Log::open(folder.path().join(FILE)).unwrap();
    log.set_host("host-1").unwrap();
    let (old, new) = (maker("patient", "a"), maker("patient", "b"));
    let steps = [
        step(StepKind::WentLive, 0, old.clone(), "folder"),
        step(StepKind::WentLive, 60, old.clone(), "folder"),
        step(StepKind::CandidateBegan, 100, new.clone(), "10 % of the messages"),
        step(StepKind::RolledBack, 160, new.clone(), "3 of 12 decisions were faults"),
        step(StepKind::Left, 200, old, "patient@bbbbbbbbbbbb took its place"),
        step(StepKind::WentLive, 200, new, "folder"),
    ];
    log.write(|batch| steps.iter().try_for_each(|step| batch.add_step(step))).unwrap();
    let sources = [Source::open(folder.path()).unwrap()];
    let all = recorded(&sources, Some("orders")).unwrap();
    insta::assert_snapshot!("history", view(&all, Style::PLAIN).join("\n"));
    assert_eq!(recorded(&sources, Some("payments")).unwrap(), []);
}
