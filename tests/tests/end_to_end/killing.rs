//! SIGKILL in the middle.

use std::collections::BTreeSet;

use nix::sys::signal::Signal;

use crate::flow::{Flow, SLOTS};

const MESSAGES: usize = 200;

#[test]
fn kill_nine_loses_nothing() {
    let flow = Flow::new(MESSAGES);
    let mut program = flow.scene().program(&flow.route());
    flow.handler.wait_for_answered(MESSAGES / 2);
    program.signal(Signal::SIGKILL);
    assert!(!program.wait_for_end().success());
    let begun: BTreeSet<String> = flow.handler.asked().into_iter().map(|event| event.id).collect();
    assert!(flow.scene().broker.count(&flow.orders) > 0, "it was killed in the middle");

    let mut program = flow.scene().program(&flow.route());
    let mut dead_letters = flow.wait_for_outcomes();
    program.stop();
    dead_letters.extend(flow.take_dead_letters());
    assert_eq!(flow.scene().broker.count(&flow.orders), 0);

    // Only what was in work at the kill may have been done twice.
    let repeated = flow.repeated(&dead_letters);
    assert!(repeated.is_subset(&begun), "not even begun at the kill: {repeated:?}");
    assert!(repeated.len() <= SLOTS, "more than were in work: {repeated:?}");
}
