//! What the broker never takes goes into a folder, and is acknowledged only then (rules 1 and 11).

use super::{Machine, State, report};
use crate::broker::PublishError;
use crate::delivery::machine::publishing::Publishing;
use crate::delivery::{Effect, Ending, Parcel};
use crate::event::EventKind;
use crate::timestamp::Timestamp;

impl Machine {
    pub(super) fn park(&mut self, publishing: Box<Publishing>, refusal: String, effects: &mut Vec<Effect>) -> State {
        let copy = &publishing.copy;
        effects.push(Effect::Park(Box::new(Parcel {
            message: self.arrival.message.clone(),
            origin: self.arrival.origin.clone(),
            id: copy.id.clone(),
            attempts: self.attempt,
            error: copy.error.clone(),
            failed_at: copy.failed_at,
            reason: copy.ruling.as_ref().map(|ruling| ruling.verdict.reason.clone()).unwrap_or_default(),
            target: copy.to.target().clone(),
            refusal,
        })));
        State::Parking(publishing)
    }

    pub(super) fn parked(
        &mut self,
        mut publishing: Box<Publishing>,
        result: Result<String, String>,
        now: Timestamp,
        effects: &mut Vec<Effect>,
    ) -> State {
        match result {
            Ok(file) => {
                if publishing.outage {
                    effects.push(Effect::ResumeIntake);
                }
                let ruling = publishing.ruling();
                effects.push(report(EventKind::Parked { subject: self.subject(), ruling, file }));
                self.acknowledge(Ending::Parked, None, effects)
            }
            // A full disk ends by itself no more than an outage does, but it concerns only this message.
            Err(why) => {
                let error = PublishError::Refused(format!("it cannot be parked either: {why}"));
                self.hold(publishing, &error, now, effects)
            }
        }
    }
}
