use super::*;
use crate::books::{DeadLetter, Run};
use crate::script::UNWANTED;

fn sent(runs: &[(u32, f64, &'static str)]) -> Message {
    let run = |&(attempt, at, answer): &(u32, f64, &'static str)| Run {
        host: 0,
        attempt,
        began: at,
        ended: Some(at),
        answer,
        succeeded: answer == "success",
    };
    Message { confirmed: Some(0.0), runs: runs.iter().map(run).collect(), ..Message::default() }
}

fn dead_letter(at: f64) -> DeadLetter {
    DeadLetter { at, queue: "dead", redelivered: false, made: at.to_string(), altered: false, bare: false }
}

fn fault(kind: Kind, at: f64) -> Fault {
    Fault { kind, host: Some(0), begin: at, end: Some(at), detail: String::new() }
}

fn judge(message: Message, faults: &[Fault]) -> (Judgement, Vec<&'static str>) {
    let (messages, dropped) = (BTreeMap::from([(7, message)]), BTreeSet::new());
    let repertoire = &crate::rabbitmq::REPERTOIRE;
    let judgement = Judgement::of(&messages, &Circumstances { faults, hosts: 2, repertoire, dropped: &dropped });
    let troubles = judgement.troubles.iter().map(|trouble| trouble.what).collect();
    (judgement, troubles)
}

#[test]
fn a_confirmed_message_without_an_end_is_lost_and_an_unconfirmed_one_is_not() {
    let (judgement, troubles) = judge(sent(&[(1, 5.0, "broken")]), &[]);
    assert_eq!((judgement.lost, troubles), (1, vec!["lost"]));
    let (judgement, troubles) = judge(Message { confirmed: None, ..sent(&[]) }, &[]);
    assert_eq!((judgement.sent, judgement.lost, judgement.unconfirmed, troubles.len()), (0, 0, 1, 0));
}

#[test]
fn only_what_failed_as_unwanted_may_be_dropped_and_a_host_must_say_so() {
    let (judgement, troubles) = judge(sent(&[(1, 5.0, UNWANTED)]), &[]);
    assert_eq!((judgement.dropped, judgement.lost, troubles.len()), (1, 0, 1), "nobody says that it was dropped");
    assert!(judge(sent(&[(1, 5.0, UNWANTED)]), &[fault(Kind::KillHost, 6.0)]).1.is_empty());
}

#[test]
fn a_duplicate_needs_a_fault_that_explains_it() {
    let twice = || Message { dead_letters: vec![dead_letter(6.0), dead_letter(9.0)], ..sent(&[(1, 5.0, "broken")]) };
    let (judgement, troubles) = judge(twice(), &[fault(Kind::Refuse, 6.5)]);
    assert_eq!((judgement.duplicates(), troubles.len()), (1, 1));
    let (judgement, troubles) = judge(twice(), &[fault(Kind::KillHost, 6.5)]);
    assert_eq!((judgement.duplicates(), troubles.len()), (1, 0));
}

#[test]
fn attempts_are_never_numbered_higher_than_was_seen() {
    let skips = [(1, 5.0, "broken"), (3, 6.0, "success")];
    assert_eq!(judge(sent(&skips), &[fault(Kind::KillHost, 5.5)]).1.len(), 1);
}

#[test]
fn attempts_may_be_forgotten_only_at_a_fault() {
    let forgets = [(1, 5.0, "broken"), (1, 6.0, "success")];
    assert!(judge(sent(&forgets), &[fault(Kind::KillHost, 5.5)]).1.is_empty());
    assert_eq!(judge(sent(&forgets), &[fault(Kind::HangUp, 5.5)]).1.len(), 1);
}
