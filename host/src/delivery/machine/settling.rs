//! Telling the broker.

use std::time::Duration;

use super::publishing::Publishing;
use super::{Machine, Next, State, end};
use crate::broker::{SettleError, Settlement};
use crate::delivery::{Effect, Ending};
use crate::event::{EventKind, Ruling};
use crate::timestamp::millis;
use crate::verdict::Action;

#[derive(Debug, Clone)]
pub(super) struct Settling {
    pub(super) settlement: Settlement,
    pub(super) ending: Ending,
    /// Reported once the settle is taken.
    pub(super) report: Option<Box<EventKind>>,
    pub(super) tries: u32,
    /// What is published where there is no room to give it back. Without it the delivery stays held.
    pub(super) instead: Option<Box<Publishing>>,
}

impl Machine {
    pub(super) fn acknowledge(
        &mut self,
        ending: Ending,
        report: Option<Box<EventKind>>,
        effects: &mut Vec<Effect>,
    ) -> State {
        if self.lost {
            return end(Ending::Lost { durable: true }, effects);
        }
        self.settle(Settling { settlement: Settlement::Ack, ending, report, tries: 0, instead: None }, effects)
    }

    pub(super) fn settle(&self, settling: Settling, effects: &mut Vec<Effect>) -> State {
        effects.push(Effect::Settle(settling.settlement));
        State::Settling(settling)
    }

    pub(super) fn settled(
        &mut self,
        mut settling: Settling,
        result: Result<(), SettleError>,
        effects: &mut Vec<Effect>,
    ) -> State {
        match result {
            Ok(()) => {
                effects.extend(settling.report.map(Effect::Report));
                end(settling.ending, effects)
            }
            Err(SettleError::Retry(_)) if !self.lost && !self.stopping => {
                let wait = self.rules.publish.backoff.after(settling.tries);
                settling.tries = settling.tries.saturating_add(1);
                effects.push(Effect::Wait(wait));
                State::Waiting(Next::Settle(settling))
            }
            Err(SettleError::NoRoom(why)) if settling.settlement == Settlement::Reject && !self.lost => {
                self.no_room(settling, &why, effects)
            }
            Err(_) => {
                let durable = settling.settlement == Settlement::Ack;
                // A drop stands, though its ack is lost: the message is not handled again.
                effects.extend(settling.report.filter(|_| durable).map(Effect::Report));
                end(Ending::Lost { durable }, effects)
            }
        }
    }

    /// The others must not wait for one that is given back for ever (rule 14), and it must not be lost (rule 7).
    fn no_room(&mut self, mut settling: Settling, why: &str, effects: &mut Vec<Effect>) -> State {
        if self.stopping {
            return self.release("shutdown", effects);
        }
        match settling.instead.take() {
            Some(mut publishing) => {
                if let Some(ruling) = &mut publishing.copy.ruling
                    && matches!(ruling.verdict.action, Action::Requeue { .. })
                {
                    ruling.overridden.get_or_insert_with(|| format!("no room to give it back: {why}"));
                }
                self.publish(publishing, effects)
            }
            None => {
                effects.push(Effect::Wait(self.rules.requeue.after(self.arrival.known.requeues)));
                self.arrival.known.requeues = self.arrival.known.requeues.saturating_add(1);
                State::Waiting(Next::Settle(settling))
            }
        }
    }

    /// Hands back as the verdict says. `dead_letter` stands for it where there is no room for that.
    pub(super) fn cool_down(
        &mut self,
        cooldown: Duration,
        ruling: Ruling,
        dead_letter: Option<Box<Publishing>>,
        effects: &mut Vec<Effect>,
    ) -> State {
        self.arrival.known.requeues = self.arrival.known.requeues.saturating_add(1);
        self.requeued = true;
        let report = EventKind::Requeued { subject: self.subject(), ruling, cooldown_ms: millis(cooldown) };
        let report = Box::new(report);
        self.hand_back(cooldown, Some(report), dead_letter, effects)
    }

    pub(super) fn hand_back(
        &mut self,
        cooldown: Duration,
        report: Option<Box<EventKind>>,
        instead: Option<Box<Publishing>>,
        effects: &mut Vec<Effect>,
    ) -> State {
        let (settlement, ending) = (Settlement::Reject, Ending::Requeued);
        let settling = Settling { settlement, ending, report, tries: 0, instead };
        if self.stopping {
            return self.settle(settling, effects);
        }
        effects.push(Effect::Wait(cooldown));
        State::Waiting(Next::Settle(settling))
    }

    pub(super) fn release(&mut self, why: &'static str, effects: &mut Vec<Effect>) -> State {
        if self.lost {
            return self.give_up(effects);
        }
        let report = Box::new(EventKind::Released { subject: self.subject(), why });
        let (settlement, ending) = (Settlement::Release, Ending::Released);
        self.settle(Settling { settlement, ending, report: Some(report), tries: 0, instead: None }, effects)
    }
}
