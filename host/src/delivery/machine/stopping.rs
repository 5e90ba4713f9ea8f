//! Blows from outside: the delivery is lost, the host stops.

use super::settling::Settling;
use super::{Machine, Next, State, end, report};
use crate::broker::Settlement;
use crate::delivery::{Effect, Ending};
use crate::event::EventKind;

impl Machine {
    /// The broker has the delivery again. What runs may finish: its result can still be made durable.
    pub(super) fn lose(&mut self, state: State, effects: &mut Vec<Effect>) -> State {
        self.lost = true;
        match state {
            State::Running => {
                self.arrival.known.interruptions = self.arrival.known.interruptions.saturating_add(1);
                state
            }
            State::Publishing(_) | State::Parking(_) | State::Settling(_) => state,
            State::Waiting(Next::Settle(Settling { settlement: Settlement::Ack, .. })) => {
                end(Ending::Lost { durable: true }, effects)
            }
            State::Judging(_) => {
                effects.push(Effect::Stop);
                self.give_up(effects)
            }
            State::New | State::Waiting(_) | State::Ended => self.give_up(effects),
        }
    }

    /// Ends without an outcome: the broker has the delivery and will hand it over again.
    pub(super) fn give_up(&self, effects: &mut Vec<Effect>) -> State {
        let why = "the broker took the delivery back";
        effects.push(report(EventKind::Released { subject: self.subject(), why }));
        end(Ending::Lost { durable: false }, effects)
    }

    pub(super) fn shut_down(&mut self, state: State, effects: &mut Vec<Effect>) -> State {
        self.stopping = true;
        match state {
            State::Waiting(Next::Settle(settling)) => self.settle(settling, effects),
            State::New | State::Waiting(_) => self.release("shutdown", effects),
            state => state,
        }
    }

    pub(super) fn abort(&mut self, state: State, effects: &mut Vec<Effect>) -> State {
        self.stopping = true;
        match state {
            State::Running | State::Judging(_) | State::Publishing(_) | State::Parking(_) => {
                effects.push(Effect::Stop);
                self.release("shutdown", effects)
            }
            State::Settling(_) | State::Ended => end(Ending::Released, effects),
            State::New | State::Waiting(_) => self.release("shutdown", effects),
        }
    }
}
