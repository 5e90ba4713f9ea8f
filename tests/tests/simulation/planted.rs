//! Faults that are planted, to see that the simulation finds each, by the law that it breaks.

use crate::machines::Tampering;
use crate::replay::play_all;
use crate::routes::Planted;
use crate::search::search;
use crate::sent::{ONE, TWO};
use crate::world::Limits;

fn story_of_machine(tampering: Tampering) -> String {
    let limits = Limits { faults: 3, slots: 2, time: false };
    search(ONE, Some(tampering), &limits).expect_err("a planted fault is found")
}

fn story_of_driver(planted: Planted) -> String {
    let limits = Limits { faults: 2, slots: 2, time: true };
    // It takes two to take one for the other.
    let sent = if planted == Planted::SettlesAnother { TWO } else { ONE };
    play_all(sent, &limits, Some(planted), usize::MAX).expect_err("a planted fault is found")
}

#[test]
fn every_fault_that_is_planted_in_the_machine_is_found() {
    for (tampering, law) in [
        (Tampering::AcknowledgesEarly, "ack last (rule 1)"),
        (Tampering::TakesAnyAnswerForAConfirm, "ack last (rule 1)"),
        (Tampering::AcknowledgesWhatItHandsBack, "ack last (rule 1)"),
        (Tampering::ForgetsStarts, "the count travels with the message (rule 9)"),
        (Tampering::ForgetsLostAcks, "a lost ack is remembered (rule 13)"),
        (Tampering::OverlooksLosses, "a settle belongs to its channel (rule 13)"),
        (Tampering::RejectsWhatIsDone, "bounded duplicates (rule 1)"),
    ] {
        let story = story_of_machine(tampering);
        assert!(story.contains(law), "{tampering:?} is found by another law:\n{story}");
    }
}

#[test]
fn every_fault_that_is_planted_around_the_driver_is_found() {
    for (planted, law) in [
        (Planted::ConfirmsWithoutAsking, "ack last (rule 1)"),
        (Planted::TakesARefusalForAConfirm, "ack last (rule 1)"),
        (Planted::SettlesAnother, "ack last (rule 1)"),
        (Planted::OverlooksLosses, "a settle belongs to its channel (rule 13)"),
        (Planted::ForgetsRedeliveries, "the count travels with the message (rule 9)"),
    ] {
        let story = story_of_driver(planted);
        assert!(story.contains(law), "{planted:?} is found by another law:\n{story}");
    }
}

#[test]
fn a_failure_is_told_as_a_story() {
    insta::assert_snapshot!("machine", story_of_machine(Tampering::ForgetsLostAcks));
    insta::assert_snapshot!("driver", story_of_driver(Planted::TakesARefusalForAConfirm));
}
