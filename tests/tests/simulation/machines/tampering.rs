//! Faults that are planted to see that the simulation finds them.

use super::arena::Fed;
use crate::world::{Answer, Asks, How, Remembered};

/// A host that breaks one rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tampering {
    /// Instead of publishing a copy it acknowledges.
    AcknowledgesEarly,
    /// A publish that was refused or got no confirm counts as kept.
    TakesAnyAnswerForAConfirm,
    /// Starts on a copy that goes back are not remembered.
    ForgetsStarts,
    /// Lost acks are not remembered.
    ForgetsLostAcks,
    /// A lost delivery is carried on with as if it were not.
    OverlooksLosses,
    /// What is to be handed back is acknowledged.
    AcknowledgesWhatItHandsBack,
    /// An ack is sent as a reject, so that the message comes again.
    RejectsWhatIsDone,
}

impl Tampering {
    pub(super) fn asks(self, asks: Asks) -> Asks {
        let ack = Asks::Settle { how: How::Ack, taken: false };
        match (self, asks) {
            (Self::AcknowledgesEarly, Asks::Publish { .. }) => ack,
            (Self::AcknowledgesWhatItHandsBack, Asks::Settle { .. }) => ack,
            (Self::RejectsWhatIsDone, Asks::Settle { how: How::Ack, .. }) => {
                Asks::Settle { how: How::Reject, taken: false }
            }
            _ => asks,
        }
    }

    pub(super) fn fed(self, fed: Fed) -> Fed {
        match (self, fed) {
            (Self::TakesAnyAnswerForAConfirm, Fed::Answer(Answer::Refused | Answer::Outage | Answer::TooLarge)) => {
                Fed::Answer(Answer::Confirmed)
            }
            // An answer to nothing: the machine does not move.
            (Self::OverlooksLosses, Fed::Lost) => Fed::Start,
            _ => fed,
        }
    }

    pub(super) fn forgets(self, what: Remembered) -> bool {
        match self {
            Self::ForgetsStarts => matches!(what, Remembered::Open(_)),
            Self::ForgetsLostAcks => what == Remembered::Done,
            _ => false,
        }
    }
}
